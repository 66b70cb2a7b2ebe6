# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of lemmas: what proves each, read by `lemmas`.

A name stands at the margin, below it what proves it, fields separated by bars. `fold`: title, declarations, what the
prefix functions add up, a claim (`@` is the count), and what else is assumed; base and step of an induction follow.
Any other line: title, declarations, hypotheses, goal. `for` repeats what follows for each operator.
"""

# fmt: off
ABBREVIATIONS = {
    "FOLDS": "n:Int S:Int->Real T:Int->Real f:Int->Real",
    "TWO": "n:Int S:Int->Real T:Int->Real f:Int->Real g:Int->Real U:Int->Real",
    "ROW": "l:Int C:Int->Real D:Int->Real R:Int->Real p:Real q:Real f:Real",
    "MAIN": "n:Int rows:Int->Real columns:Int->Real row:Int->Real",
    "TILES": "n:Int s:Int c:Int t:Int j:Int S:Int->Real I:Int->Real f:Int->Real",
    "LOG": "x:Real y:Real a:Real b:Real l:Real e:Real->Real",
    "RISING": "n:Int S:Int->Real T:Int->Real f:Int->Real h:Real->Real",
    "FALLING": "n:Int U:Int->Real V:Int->Real f:Int->Real g:Real->Real",
    "ANY": "n:Int S:Int->Real T:Int->Real c:Int->Bool",
    "PICK": "n:Int p:Real S:Int->Real T:Int->Real f:Int->Real l:Int->Real e:Real->Real",
    "POWER": "a:Int b:Int x:Real p:Int->Real",
    "TILING": "(>= n 1); (>= s 1); (< (* s (- c 1)) n); (<= n (* s c))",
    "EXTENT": "(or (= e s) (= e (- n (* s t)))); (<= e s); (<= e (- n (* s t)))",
    "SHORT": "(ite (<= s (- n (* s t))) s (- n (* s t)))",
    "BOUND": "(<= (* s t) (* s (- c 1)))",
    "FLOOR": "(<= (* s t) i); (< i (+ (* s t) s))",
    "ONE": "(ite c 1.0 0.0)",
}

LEMMAS = """
congruence
 function | x:Real y:Real h:Real->Real | (= x y) | (= (h x) (h y))
 base | FOLDS g:Int->Real | (= (S 0) 0.0); (= (T 0) 0.0) | (= (S 0) (T 0))
 for + * max min
 step of {op} | FOLDS g:Int->Real | (>= n 0); (= (f n) (g n)); step[S, n, (f n)]; step[T, n, (g n)]; (= (S n) (T n)) | (= (S (+ n 1)) (T (+ n 1)))
scale
 fold {} | FOLDS c:Real | S: (f @); T: (* c (f @)) | (= (T @) (* c (S @)))
add
 fold {} | TWO | S: (f @); T: (g @); U: (+ (f @) (g @)) | (= (U @) (+ (S @) (T @)))
const
 fold {} | n:Int S:Int->Real c:Real | S: c | (= (S @) (* (to_real @) c))
 for max min
 fold {} of {op} | n:Int S:Int->Real c:Real | S: c | (= (S @) c)
fubini
 fold no rows, {} | l:Int Z:Int->Real | Z: 0.0 | (= (Z @) 0.0) | n: l
 fold one more row, {} | ROW | C: p; D: q; R: f | (= (D @) (+ (C @) (R @))) | n: l | late: (= q (+ p f))
 fold {} | MAIN | rows: (row @); columns: (row @) | (= (rows @) (columns @))
tile
 count | n:Int s:Int c:Int q:Int | (>= n 1); (>= s 1); (= c (+ q 1)); (<= (* s q) (- n 1)); (< (- n 1) (+ (* s q) s)) | (and (< (* s (- c 1)) n) (<= n (* s c)))
 order | s:Int t:Int c:Int | (>= s 1); (<= t (- c 1)) | BOUND
 for + *
 inside, base of {op} | TILES | (= (I 0) {neutral}) | (= (S (+ (* s t) 0)) join[(S (* s t)), (I 0)])
 inside, step of {op} | TILES | (>= j 0); step[I, j, (f (+ (* s t) j))]; step[S, (+ (* s t) j), (f (+ (* s t) j))]; (= (S (+ (* s t) j)) join[(S (* s t)), (I j)]) | (= (S (+ (* s t) (+ j 1))) join[(S (* s t)), (I (+ j 1))])
 base of {op} | TILES T:Int->Real e:Int | TILING; (= (T 0) {neutral}); (= (S 0) {neutral}); (= (* s 0) 0) | (= (T 0) (S (ite (<= (* s 0) n) (* s 0) n)))
 step of {op} | TILES T:Int->Real e:Int | TILING; (>= t 0); (< t c); BOUND; (= (* s (+ t 1)) (+ (* s t) s)); EXTENT; (= (S (+ (* s t) e)) join[(S (* s t)), (I e)]); step[T, t, (I e)]; (= (T t) (S (ite (<= (* s t) n) (* s t) n))) | (= (T (+ t 1)) (S (ite (<= (* s (+ t 1)) n) (* s (+ t 1)) n)))
 for max min
 inside, base of {op} | TILES | (= (I 1) (f (* s t))); step[S, (* s t), (f (* s t))] | (= (S (+ (* s t) 1)) join[(S (* s t)), (I 1)])
 inside, step of {op} | TILES | (>= j 1); step[I, j, (f (+ (* s t) j))]; step[S, (+ (* s t) j), (f (+ (* s t) j))]; (= (S (+ (* s t) j)) join[(S (* s t)), (I j)]) | (= (S (+ (* s t) (+ j 1))) join[(S (* s t)), (I (+ j 1))])
 base of {op} | TILES T:Int->Real e:Int | TILING; (= t 0); EXTENT; (= (T 1) (I e)); (= (I e) (S e)) | (= (T 1) (S (ite (<= (* s 1) n) (* s 1) n)))
 step of {op} | TILES T:Int->Real e:Int | TILING; (>= t 1); (< t c); BOUND; (= (* s (+ t 1)) (+ (* s t) s)); EXTENT; (= (S (+ (* s t) e)) join[(S (* s t)), (I e)]); step[T, t, (I e)]; (= (T t) (S (ite (<= (* s t) n) (* s t) n))) | (= (T (+ t 1)) (S (ite (<= (* s (+ t 1)) n) (* s (+ t 1)) n)))
 for -
 all tiles | n:Int s:Int c:Int | TILING | (= (ite (<= (* s c) n) (* s c) n) n)
 no empty tile | n:Int s:Int c:Int t:Int | TILING; (>= t 0); (< t c); BOUND; (>= (* s t) 0) | (and (>= SHORT 1) (>= (* s t) 0))
cover
 order | s:Int t:Int c:Int | (>= s 1); (>= t c) | (>= (* s t) (* s c))
 negative | s:Int t:Int | (>= s 1); (<= t (- 1)) | (<= (* s t) (- s))
 every index is in its tile | n:Int s:Int c:Int i:Int t:Int | TILING; (<= 0 i); (< i n); FLOOR; (=> (>= t c) (>= (* s t) (* s c))); (=> (<= t (- 1)) (<= (* s t) (- s))) | (and (<= 0 t) (< t c) (<= (* s t) i) (< i (+ (* s t) SHORT)))
 tiles hold only indices | n:Int s:Int c:Int i:Int t:Int | TILING; (<= 0 t); (< t c); (<= (* s t) i); (< i (+ (* s t) SHORT)); (>= (* s t) 0) | (and (<= 0 i) (< i n))
 distance | s:Int t:Int u:Int | (>= s 1); (> t u) | (>= (* s t) (+ (* s u) s))
 an index is in one tile | n:Int s:Int c:Int i:Int t:Int u:Int | (>= s 1); FLOOR; (<= (* s u) i); (< i (+ (* s u) s)); (=> (> t u) (>= (* s t) (+ (* s u) s))); (=> (< t u) (>= (* s u) (+ (* s t) s))) | (= t u)
single
 sum | S:Int->Real f:Int->Real | (= (S 0) 0.0); (= (S 1) (+ (S 0) (f 0))) | (= (S 1) (f 0))
 prod | S:Int->Real f:Int->Real | (= (S 0) 1.0); (= (S 1) (* (S 0) (f 0))) | (= (S 1) (f 0))
 empty sum | S:Int->Real | (= (S 0) 0.0) | (= 0.0 (S 0))
 empty prod | S:Int->Real | (= (S 0) 1.0) | (= 1.0 (S 0))
max-scale
 for max min
 fold {} of {op} | FOLDS c:Real | S: (f @); T: (* c (f @)) | (= (T @) (* c (S @))) | always: (>= c 0.0)
max-shift
 for max min
 fold {} of {op} | FOLDS c:Real | S: (f @); T: (+ (f @) c) | (= (T @) (+ (S @) c))
max-negate
 base of max | FOLDS | (= (S 1) (- (f 0))); (= (T 1) (f 0)) | (= (S 1) (- (T 1)))
 step of max | FOLDS | (>= n 1); step[S, n, (- (f n)), max]; step[T, n, (f n), min]; (= (S n) (- (T n))) | (= (S (+ n 1)) (- (T (+ n 1))))
 base of min | FOLDS | (= (S 1) (- (f 0))); (= (T 1) (f 0)) | (= (S 1) (- (T 1)))
 step of min | FOLDS | (>= n 1); step[S, n, (- (f n)), min]; step[T, n, (f n), max]; (= (S n) (- (T n))) | (= (S (+ n 1)) (- (T (+ n 1))))
max-exp
 for max min
 fold {} of {op} | FOLDS e:Real->Real | S: (f @); T: (e (f @)) | (= (T @) (e (S @))) | late: (=> (<= (S n) (f n)) (<= (e (S n)) (e (f n)))); (=> (<= (f n) (S n)) (<= (e (f n)) (e (S n))))
max-monotone
 rising, base of max | RISING | (= (S 1) (f 0)); (= (T 1) (h (f 0))) | (= (T 1) (h (S 1)))
 rising, step of max | RISING | (>= n 1); step[S, n, (f n), max]; step[T, n, (h (f n)), max]; (=> (<= (S n) (f n)) (<= (h (S n)) (h (f n)))); (=> (<= (f n) (S n)) (<= (h (f n)) (h (S n)))); (= (T n) (h (S n))) | (= (T (+ n 1)) (h (S (+ n 1))))
 falling, base of max | FALLING | (= (U 1) (f 0)); (= (V 1) (g (f 0))) | (= (V 1) (g (U 1)))
 falling, step of max | FALLING | (>= n 1); step[U, n, (f n), min]; step[V, n, (g (f n)), max]; (=> (<= (U n) (f n)) (>= (g (U n)) (g (f n)))); (=> (<= (f n) (U n)) (>= (g (f n)) (g (U n)))); (= (V n) (g (U n))) | (= (V (+ n 1)) (g (U (+ n 1))))
 rising, base of min | RISING | (= (S 1) (f 0)); (= (T 1) (h (f 0))) | (= (T 1) (h (S 1)))
 rising, step of min | RISING | (>= n 1); step[S, n, (f n), min]; step[T, n, (h (f n)), min]; (=> (<= (S n) (f n)) (<= (h (S n)) (h (f n)))); (=> (<= (f n) (S n)) (<= (h (f n)) (h (S n)))); (= (T n) (h (S n))) | (= (T (+ n 1)) (h (S (+ n 1))))
 falling, base of min | FALLING | (= (U 1) (f 0)); (= (V 1) (g (f 0))) | (= (V 1) (g (U 1)))
 falling, step of min | FALLING | (>= n 1); step[U, n, (f n), max]; step[V, n, (g (f n)), min]; (=> (<= (U n) (f n)) (>= (g (U n)) (g (f n)))); (=> (<= (f n) (U n)) (>= (g (f n)) (g (U n)))); (= (V n) (g (U n))) | (= (V (+ n 1)) (g (U (+ n 1))))
parity
 odd | x:Real y:Real h:Real->Real | (= y (- x)); (= (h (- x)) (- (h x))) | (= (h y) (- (h x)))
 even | x:Real y:Real g:Real->Real | (= y (- x)); (= (g (- x)) (g x)) | (= (g y) (g x))
 sign | x:Real c:Real | (> c 0.0) | (= (ite (> (* c x) 0.0) 1.0 (ite (< (* c x) 0.0) (- 1.0) 0.0)) (ite (> x 0.0) 1.0 (ite (< x 0.0) (- 1.0) 0.0)))
whole
 floor | x:Real n:Int f:Int g:Int | (<= (to_real f) x); (<= (to_real g) (+ x (to_real n))); (< x (+ (to_real f) 1.0)); (< (+ x (to_real n)) (+ (to_real g) 1.0)) | (= g (+ f n))
 round | n:Int f:Int | (<= (* 2 (- f n)) 1); (<= (* 2 (- n f)) 1) | (= f n)
max-join
 for max min
 fold {} of {op} | TWO | S: (f @); T: (g @); U: join[(f @), (g @)] | (= (U @) join[(S @), (T @)])
max-exchange
 for max min
 one more row, base of {op} | ROW | (= (C 1) p); (= (D 1) q); (= (R 1) f); (= q join[p, f]) | (= (D 1) join[(C 1), (R 1)])
 one more row, step of {op} | ROW | (>= l 1); step[C, l, p]; step[D, l, q]; step[R, l, f]; (= q join[p, f]); (= (D l) join[(C l), (R l)]) | (= (D (+ l 1)) join[(C (+ l 1)), (R (+ l 1))])
 fold {} of {op} | MAIN | rows: (row @); columns: (row @) | (= (rows @) (columns @))
split
 for + *
 base of {op} | p:Int q:Int S:Int->Real U:Int->Real f:Int->Real | (= (U 0) {neutral}) | (= (S (+ p 0)) join[(S p), (U 0)])
 step of {op} | p:Int q:Int S:Int->Real U:Int->Real f:Int->Real | (>= q 0); (>= p 0); step[S, (+ p q), (f (+ p q))]; step[U, q, (f (+ p q))]; (= (S (+ p q)) join[(S p), (U q)]) | (= (S (+ p (+ q 1))) join[(S p), (U (+ q 1))])
 for max min
 base of {op} | p:Int q:Int S:Int->Real U:Int->Real f:Int->Real | (= (U 1) (f (+ p 0))); step[S, p, (f (+ p 0))] | (= (S (+ p 1)) join[(S p), (U 1)])
 step of {op} | p:Int q:Int S:Int->Real U:Int->Real f:Int->Real | (>= q 1); (>= p 0); step[S, (+ p q), (f (+ p q))]; step[U, q, (f (+ p q))]; (= (S (+ p q)) join[(S p), (U q)]) | (= (S (+ p (+ q 1))) join[(S p), (U (+ q 1))])
prod-mul
 for *
 fold {} | TWO | S: (f @); T: (g @); U: (* (f @) (g @)) | (= (U @) (* (S @) (T @)))
prod-exp
 base | FOLDS e:Real->Real | (= (S 0) 0.0); (= (T 0) 1.0); (= (e 0.0) 1.0) | (= (T 0) (e (S 0)))
 step | FOLDS e:Real->Real | (>= n 0); step[S, n, (f n), +]; step[T, n, (e (f n)), *]; (= (e (+ (S n) (f n))) (* (e (S n)) (e (f n)))); (= (T n) (e (S n))) | (= (T (+ n 1)) (e (S (+ n 1))))
select
 fold {} | n:Int p:Int S:Int->Real f:Int->Real | S: (ite (= @ p) (f @) 0.0) | (= (S @) (ite (and (<= 0 p) (< p @)) (f p) 0.0))
nonnegative
 fold {} of + | n:Int S:Int->Real f:Int->Real | S: (f @) | (>= (S @) 0.0) | summand: (>= (f @) 0.0)
 fold {} of +, > | n:Int S:Int->Real f:Int->Real | S: (f @) | (> (S @) 0.0) | first: 1 | summand: (> (f @) 0.0)
 for * max min
 fold {} of {op}, >= | n:Int S:Int->Real f:Int->Real | S: (f @) | (>= (S @) 0.0) | first: 1 | summand: (>= (f @) 0.0)
 fold {} of {op}, > | n:Int S:Int->Real f:Int->Real | S: (f @) | (> (S @) 0.0) | first: 1 | summand: (> (f @) 0.0)
power
 base | POWER | (= (p 0) 1.0) | (= (* (p a) (p 0)) (p (+ a 0)))
 step | POWER | (>= a 0); (>= b 0); step[p, b, x, *]; step[p, (+ a b), x, *]; (= (* (p a) (p b)) (p (+ a b))) | (= (* (p a) (p (+ b 1))) (p (+ a b 1)))
 inverse, base | POWER r:Real q:Int->Real | (= (q 0) 1.0) | (= (* (p a) (q 0)) (p (- a 0)))
 inverse, regrouped | E:Real x:Real r:Real U:Real | (= U (* r x)); (= U 1.0) | (= (* (* E x) r) E)
 inverse, step | P:Real Q:Real D:Real E:Real x:Real r:Real U:Real | (= (* P Q) D); (= (* D r) E) | (= (* P Q r) E)
 for *
 fold product, {} | n:Int x:Real y:Real X:Int->Real Y:Int->Real Z:Int->Real | X: x; Y: y; Z: (* x y) | (= (Z @) (* (X @) (Y @)))
 one root | y:Real z:Real | (>= y 0.0); (>= z 0.0); (= (* y y) (* z z)) | (= y z)
exp
 for *
 fold multiple, {} | n:Int E:Int->Real p:Int->Real e:Real | E: e; p: e | (= (E @) (p @))
 inverse | a:Real e:Real->Real | (= (e 0.0) 1.0); (= (e (+ a (- a))) (* (e a) (e (- a)))) | (= (* (e a) (e (- a))) 1.0)
log
 product | LOG | (= (e a) x); (= (e b) y); (= (e (+ a b)) (* (e a) (e b))); (= (e l) (* x y)); (=> (= (e l) (e (+ a b))) (= l (+ a b))) | (= l (+ a b))
 inverse | LOG | (= (e l) (e a)); (=> (= (e l) (e a)) (= l a)) | (= l a)
 for *
 fold multiple, {} | n:Int E:Int->Real p:Int->Real x:Real | E: x; p: x | (= (E @) (p @))
any
 base of max | ANY | (= (S 1) (ite (c 0) 1.0 0.0)); (= (T 1) (ite (c 0) 1.0 0.0)) | (and (>= (T 1) 0.0) (= (S 1) (ite (> (T 1) 0.0) 1.0 0.0)))
 step of max | ANY | (>= n 1); step[S, n, (ite (c n) 1.0 0.0), max]; step[T, n, (ite (c n) 1.0 0.0), +]; (and (>= (T n) 0.0) (= (S n) (ite (> (T n) 0.0) 1.0 0.0))) | (and (>= (T (+ n 1)) 0.0) (= (S (+ n 1)) (ite (> (T (+ n 1)) 0.0) 1.0 0.0)))
 base of min | ANY | (= (S 1) (ite (c 0) 1.0 0.0)); (= (T 1) (ite (c 0) 0.0 1.0)) | (and (>= (T 1) 0.0) (= (S 1) (ite (> (T 1) 0.0) 0.0 1.0)))
 step of min | ANY | (>= n 1); step[S, n, (ite (c n) 1.0 0.0), min]; step[T, n, (ite (c n) 0.0 1.0), +]; (and (>= (T n) 0.0) (= (S n) (ite (> (T n) 0.0) 0.0 1.0))) | (and (>= (T (+ n 1)) 0.0) (= (S (+ n 1)) (ite (> (T (+ n 1)) 0.0) 0.0 1.0)))
pick
 fold {} | PICK | S: (ite (= (to_real @) p) (f @) 0.0); T: (ite (= (to_real @) p) (l @) 0.0) | (or (and (= (S @) 0.0) (= (T @) 0.0)) (and (< p (to_real @)) (= (S @) (e (T @))))) | summand: (= (f @) (e (l @)))
 fold number, {} | n:Int p:Real S:Int->Real C:Int->Real f:Int->Real | S: (ite (= (to_real @) p) (f @) 0.0); C: (ite (= (to_real @) p) 1.0 0.0) | (or (and (= (S @) 0.0) (= (C @) 0.0)) (and (< p (to_real @)) (= (C @) 1.0)))
 number, one | n:Int p:Real S:Int->Real C:Int->Real f:Int->Real | (or (and (= (S n) 0.0) (= (C n) 0.0)) (and (< p (to_real n)) (= (C n) 1.0))); (not (= (S n) 0.0)) | (= (C n) 1.0)
 one element | PICK | (or (and (= (S n) 0.0) (= (T n) 0.0)) (and (< p (to_real n)) (= (S n) (e (T n))))); (> (S n) 0.0) | (= (S n) (e (T n)))
fraction
 step | p:Real l:Real r:Real u:Real v:Real | (= p (+ l r)); (= v (* u p)) | (= (* l u) (- v (* r u)))
indicator
 choice | c:Bool a:Real b:Real | true | (= (ite c a b) (+ b (* ONE (- a b))))
 square | c:Bool | true | (= (* ONE ONE) ONE)
 opposite | n:Int m:Int | (= m (- 1 n)) | (= (not (> n 0)) (> m 0))
"""  # noqa: E501
