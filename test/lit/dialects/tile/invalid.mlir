// RUN: axon-opt %s --split-input-file --verify-diagnostics

func.func @names(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{'tile.index' op 1 names for 0 operands}}
  %i = "tile.index"() <{expression = "a", names = ["a"]}> : () -> index
  func.return
}

// -----

func.func @one_name(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{two operands have one name}}
  %i = tile.index "a" (a = %z, a = %z)
  func.return
}

// -----

func.func @expression(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{'M +' is not an index expression: unexpected 'end'}}
  %i = tile.index "M +"
  func.return
}

// -----

func.func @division(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{divides by 0; a divisor is positive}}
  %i = tile.index "M // 0"
  func.return
}

// -----

func.func @level(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{unknown level 'chunk'; accepted: strip, block, tile}}
  %r = "tile.for"(%z, %z, %t) <{dim = "m", level = "chunk", step = "4", kinds = ["collect"], operandSegmentSizes = array<i32: 1, 1, 1>}> ({ ^bb0(%i: index, %n: index, %o: !tile.tile<["4", "8"], f32, sbuf>): "tile.yield"(%o) : (!tile.tile<["4", "8"], f32, sbuf>) -> () }) : (index, index, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @dimension(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{'m n' is not the name of a dimension; accepted: m.tile, k_2.block}}
  %r = "tile.for"(%z, %z, %t) <{dim = "m n", level = "tile", step = "4", kinds = ["collect"], operandSegmentSizes = array<i32: 1, 1, 1>}> ({ ^bb0(%i: index, %n: index, %o: !tile.tile<["4", "8"], f32, sbuf>): "tile.yield"(%o) : (!tile.tile<["4", "8"], f32, sbuf>) -> () }) : (index, index, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @step_text(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{'4 +' is not an index expression}}
  %r = "tile.for"(%z, %z, %t) <{dim = "m", level = "tile", step = "4 +", kinds = ["collect"], operandSegmentSizes = array<i32: 1, 1, 1>}> ({ ^bb0(%i: index, %n: index, %o: !tile.tile<["4", "8"], f32, sbuf>): "tile.yield"(%o) : (!tile.tile<["4", "8"], f32, sbuf>) -> () }) : (index, index, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @step(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the step must be positive, not 0}}
  %r = "tile.for"(%z, %z, %t) <{dim = "m", level = "tile", step = "0", kinds = ["collect"], operandSegmentSizes = array<i32: 1, 1, 1>}> ({ ^bb0(%i: index, %n: index, %o: !tile.tile<["4", "8"], f32, sbuf>): "tile.yield"(%o) : (!tile.tile<["4", "8"], f32, sbuf>) -> () }) : (index, index, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @kinds(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{2 kinds for 1 results}}
  %r = "tile.for"(%z, %z, %t) <{dim = "m", level = "tile", step = "4", kinds = ["collect", "sum"], operandSegmentSizes = array<i32: 1, 1, 1>}> ({ ^bb0(%i: index, %n: index, %o: !tile.tile<["4", "8"], f32, sbuf>): "tile.yield"(%o) : (!tile.tile<["4", "8"], f32, sbuf>) -> () }) : (index, index, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @kind(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{unknown kind 'median'; accepted: collect, carry, sum, prod, max, min}}
  %r = "tile.for"(%z, %z, %t) <{dim = "m", level = "tile", step = "4", kinds = ["median"], operandSegmentSizes = array<i32: 1, 1, 1>}> ({ ^bb0(%i: index, %n: index, %o: !tile.tile<["4", "8"], f32, sbuf>): "tile.yield"(%o) : (!tile.tile<["4", "8"], f32, sbuf>) -> () }) : (index, index, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @arguments(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the body takes the start, the extent, and one argument per result}}
  %r = "tile.for"(%z, %z, %t) <{dim = "m", level = "tile", step = "4", kinds = ["collect"], operandSegmentSizes = array<i32: 1, 1, 1>}> ({ ^bb0(%i: index, %o: !tile.tile<["4", "8"], f32, sbuf>): "tile.yield"(%o) : (!tile.tile<["4", "8"], f32, sbuf>) -> () }) : (index, index, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @yield_types(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the body must yield one value of each result's type}}
  %r = "tile.for"(%z, %z, %t) <{dim = "m", level = "tile", step = "4", kinds = ["collect"], operandSegmentSizes = array<i32: 1, 1, 1>}> ({ ^bb0(%i: index, %n: index, %o: !tile.tile<["4", "8"], f32, sbuf>): "tile.yield"() : () -> () }) : (index, index, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @rank(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{1 sizes for a value of rank 2}}
  %e = tile.empty (%z) : !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @monoid(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{unknown monoid 'mean'; accepted: sum, prod, max, min}}
  %e = tile.neutral "mean" (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @neutral_sizes(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{a tile has two sizes}}
  %e = tile.neutral "sum" (%z) : !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @load_rank(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{1 offsets and 1 axes for a tensor of rank 2}}
  %e = tile.load %a[%z along p] (%z, %z) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @load_axes(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{each tensor axis runs along tile axis 0, 1, or -1 for none, each at most once}}
  %e = tile.load %a[%z along p, %z along p] (%z, %z) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @load_sizes(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{a tile has two sizes}}
  %e = tile.load %a[%z along p, %z along f] (%z) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @store_rank(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{3 offsets and 3 axes for a tensor of rank 2}}
  %e = tile.store %t into %a[%z, %z along p, %z along f] : !tile.tile<["4", "8"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
  func.return
}

// -----

func.func @store_result(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the result has the type of the destination}}
  %e = "tile.store"(%t, %a, %z, %z) <{axes = [#builtin.int<0>, #builtin.int<1>], operandSegmentSizes = array<i32: 1, 1, 2>}> : (!tile.tile<["4", "8"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>, index, index) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @extract_type(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{a region has the element type and the space of its source}}
  %e = tile.extract %t[%z, %z] (%z, %z) : !tile.tile<["4", "8"], f32, sbuf> -> !tile.tile<["4", "8"], bf16, sbuf>
  func.return
}

// -----

func.func @extract_axes(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{a tile has two axes}}
  %e = tile.extract %t[%z] (%z, %z) : !tile.tile<["4", "8"], f32, sbuf> -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @insert_type(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  %u = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, psum>
  // expected-error@+1 {{a region has the element type and the space of its destination}}
  %e = tile.insert %u into %t[%z, %z] : !tile.tile<["4", "8"], f32, psum>, !tile.tile<["4", "8"], f32, sbuf> -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @insert_axes(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{a tile has two axes}}
  %e = tile.insert %t into %t[%z] : !tile.tile<["4", "8"], f32, sbuf>, !tile.tile<["4", "8"], f32, sbuf> -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @insert_result(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the result has the type of the destination}}
  %e = "tile.insert"(%t, %t, %z, %z) : (!tile.tile<["4", "8"], f32, sbuf>, !tile.tile<["4", "8"], f32, sbuf>, index, index) -> !tile.tile<["4", "9"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_text(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{does not parse at line 1, column 14}}
  %e = tile.leaf "op leaf(a[P] -> c[P, F] { c[p, f] = 1 }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_operands(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the meaning takes 2 operands}}
  %e = tile.leaf "op leaf(a[P, F], b[P, F]) -> c[P, F] { c[p, f] = a[p, f] }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_function(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{leaf: 'cube' is not a scalar function}}
  %e = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = cube(a[p, f]) }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_read(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{leaf: operand a: a tensor of rank 2 read with 1 indices}}
  %e = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p] }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_results(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{a leaf has one result, not 2}}
  %e = tile.leaf "op leaf(a[P, F]) -> c[P, F], d[P, F] { c[p, f] = 1; d[p, f] = 2 }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_axes(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{'c' is a tile, which has two axes}}
  %e = tile.leaf "op leaf(a[P, F]) -> c[P] { c[p] = a[p, 0] }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_pack(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{'a' is a tile, which has two axes}}
  %e = tile.leaf "op leaf(a[S..., F]) -> c[F, F] { c[p, f] = 1 }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_axis(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{an operand of a leaf has two axes, each a name or a number}}
  %e = tile.leaf "op leaf(a[P, F + 1]) -> c[P, P] { c[p, f] = 1 }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_attribute(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the attribute 'eps: real' is not a size or a place; accepted: size_K: index, at_k: index}}
  %e = tile.leaf "op leaf(a[P, F]) <eps: real> -> c[P, F] { c[p, f] = a[p, f] + eps }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_monoid(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{unknown monoid 'mean'; accepted: sum, prod, max, min}}
  %e = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }" (%t) mean into %t : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_destination(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{a destination and a monoid go together}}
  %e = "tile.leaf"(%t) <{text = "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }", accumulate = "sum", operandSegmentSizes = array<i32: 1, 0, 0, 0>, place_names = []}> : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_type(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the result has the type of the destination}}
  %e = "tile.leaf"(%t, %t) <{text = "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }", accumulate = "sum", operandSegmentSizes = array<i32: 1, 1, 0, 0>, place_names = []}> : (!tile.tile<["4", "8"], f32, sbuf>, !tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "9"], f32, sbuf>
  func.return
}

// -----

func.func @space(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{unknown space 'dram'; accepted: hbm, sbuf, psum}}
  %e = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, dram>
  func.return
}

// -----

func.func @bounds(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{a tile has a partition axis and a free axis}}
  %e = tile.empty (%z, %z) : !tile.tile<["4"], f32, sbuf>
  func.return
}

// -----

func.func @bound(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{'4 +' is not an index expression}}
  %e = tile.empty (%z, %z) : !tile.tile<["4", "4 +"], f32, sbuf>
  func.return
}

// -----

func.func @step_of_zero(%a: tensor<?x?xf32, ["M", "K"]>) {
  %z = tile.index "1"
  // expected-error@+1 {{a positive step for each tensor axis is expected}}
  %e = tile.load %a[%z along p, %z along f by 0] (%z, %z) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_place() {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the meaning takes the places at_m}}
  %e = tile.leaf "op leaf(a[P, F]) <at_m: index> -> c[P, F] { c[p, f] = at_m * a[p, f] }" (%t) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_other_place() {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the meaning takes the places none}}
  %e = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }" (%t) at (at_m = %z) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_same_place() {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{two places have one name}}
  %e = tile.leaf "op leaf(a[P, F]) <at_m: index> -> c[P, F] { c[p, f] = at_m }" (%t) at (at_m = %z, at_m = %z) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_sizes() {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the meaning takes the sizes P, F, in this order}}
  %e = tile.leaf "op leaf() -> c[P, F] { c[p, f] = 1 }" () sizes (%z) : () -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}

// -----

func.func @leaf_no_sizes() {
  %z = tile.index "0"
  %t = tile.empty (%z, %z) : !tile.tile<["4", "8"], f32, sbuf>
  // expected-error@+1 {{the meaning takes the sizes none, in this order}}
  %e = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = 1 }" (%t) sizes (%z) : (!tile.tile<["4", "8"], f32, sbuf>) -> !tile.tile<["4", "8"], f32, sbuf>
  func.return
}
