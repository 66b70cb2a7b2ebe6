// RUN: axon-opt %s -p 'tile-instantiate{steps="m_part=64,k_free=256"},isa-select' | filecheck %s
// RUN: axon-opt %s -p 'tile-instantiate{steps="m_part=64,k_free=256"},isa-select' | axon-opt | filecheck %s

// A load is a view of HBM and the instruction that moves it; leaves with one reader are one instruction where one can:
// here exp(2 * x) is an activation with a scale.
// CHECK-LABEL: func.func @scaled
// CHECK:       %[[V:.*]] = tile.load %x{{.*}} -> !tile.tile<["64", "256"], f32, hbm>
// CHECK-NEXT:  %[[A:.*]] = trn_isa.dma_copy copy (%[[V]]) [dma] : {{.*}} -> !tile.tile<["64", "256"], f32, sbuf>
// CHECK-NEXT:  %[[B:.*]] = trn_isa.activation {{.*}}<fn = exp> (%[[A]]) {scale = "2"} [scalar]
// CHECK-NEXT:  %[[C:.*]] = trn_isa.dma_copy copy (%[[B]]) [dma] : {{.*}} -> !tile.tile<["64", "256"], f32, hbm>
// CHECK-NEXT:  tile.store %[[C]] into
// CHECK-NOT:   tile.leaf
func.func @scaled(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
    attributes {tile.sizes = {m = "M", k = "K"}, tile.parameters = {m_part = "<= partitions", k_free = "<= free_elements_psum"}} {
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty(%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "m_part" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {
    %s = tile.for k.tile (%k, %kn) = %zero to %K step "k_free" (collect %p = %o : tensor<?x?xf32, ["M", "K"]>) {
      %a = tile.load %x[%m along p, %k along f] (%mn, %kn) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %b = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = 2 * a[p, f] }" (%a) : (!tile.tile<["m_part", "k_free"], f32, sbuf>) -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %c = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = exp(a[p, f]) }" (%b) : (!tile.tile<["m_part", "k_free"], f32, sbuf>) -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %q = tile.store %c into %p[%m along p, %k along f] : !tile.tile<["m_part", "k_free"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
      tile.yield %q : tensor<?x?xf32, ["M", "K"]>
    }
    tile.yield %s : tensor<?x?xf32, ["M", "K"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}

// A value with two readers is made once.
// CHECK-LABEL: func.func @shared
// CHECK:       %[[E:.*]] = trn_isa.activation {{.*}}<fn = exp>
// CHECK-NEXT:  trn_isa.tensor_tensor binary<fn = mul> (%[[E]], %[[E]])
// CHECK-NEXT:  trn_isa.dma_copy
func.func @shared(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
    attributes {tile.sizes = {m = "M", k = "K"}, tile.parameters = {m_part = "<= partitions", k_free = "<= free_elements_psum"}} {
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty(%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "m_part" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {
    %s = tile.for k.tile (%k, %kn) = %zero to %K step "k_free" (collect %p = %o : tensor<?x?xf32, ["M", "K"]>) {
      %a = tile.load %x[%m along p, %k along f] (%mn, %kn) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %b = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = exp(a[p, f]) }" (%a) : (!tile.tile<["m_part", "k_free"], f32, sbuf>) -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %c = tile.leaf "op leaf(a[P, F], b[P, F]) -> c[P, F] { c[p, f] = a[p, f] * b[p, f] }" (%b, %b) : (!tile.tile<["m_part", "k_free"], f32, sbuf>, !tile.tile<["m_part", "k_free"], f32, sbuf>) -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %q = tile.store %c into %p[%m along p, %k along f] : !tile.tile<["m_part", "k_free"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
      tile.yield %q : tensor<?x?xf32, ["M", "K"]>
    }
    tile.yield %s : tensor<?x?xf32, ["M", "K"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}

// A neutral tile in SBUF is filled; folding into it is a reduction and an addition. An immediate may be over sizes.
// CHECK-LABEL: func.func @mean
// CHECK:       trn_isa.memset fill () sizes (%m_n, %{{.*}}) {value = "0"}
// CHECK:         %[[S:.*]] = trn_isa.tensor_reduce row<monoid = sum>
// CHECK-NEXT:    trn_isa.tensor_tensor binary<fn = add> (%{{.*}}, %[[S]])
// CHECK:       {operand0 = "(1 / K)"}
func.func @mean(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?xf32, ["M"]>
    attributes {tile.sizes = {m = "M", k = "K"}, tile.parameters = {m_part = "<= partitions", k_free = "<= free_elements_psum"}} {
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty(%M) : tensor<?xf32, ["M"]>
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "m_part" (collect %o = %out : tensor<?xf32, ["M"]>) {
    %acc = tile.neutral "sum"(%mn, %one) : !tile.tile<["m_part", "1"], f32, sbuf>
    %s = tile.for k.tile (%k, %kn) = %zero to %K step "k_free" (sum %p = %acc : !tile.tile<["m_part", "1"], f32, sbuf>) {
      %a = tile.load %x[%m along p, %k along f] (%mn, %kn) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %b = tile.leaf "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = sum(q < F: a[p, q]) }" (%a) sum into %p : (!tile.tile<["m_part", "k_free"], f32, sbuf>) -> !tile.tile<["m_part", "1"], f32, sbuf> dims ["m", ""]
      tile.yield %b : !tile.tile<["m_part", "1"], f32, sbuf>
    }
    %c = tile.leaf "op leaf(a[P, F]) <size_K: index> -> c[P, F] { c[p, f] = a[p, f] / size_K }" (%s) : (!tile.tile<["m_part", "1"], f32, sbuf>) -> !tile.tile<["m_part", "1"], f32, sbuf> dims ["m", ""]
    %q = tile.store %c into %o[%m along p] : !tile.tile<["m_part", "1"], f32, sbuf>, tensor<?xf32, ["M"]>
    tile.yield %q : tensor<?xf32, ["M"]>
  }
  func.return %r : tensor<?xf32, ["M"]>
}

// Leaves that know where they stand: a mask is composed into its reader, places of both included; a condition on
// positions and a constant is one instruction, a choice by a value takes a predicate of small integers.
// CHECK-LABEL: func.func @masks
// CHECK:       %[[A:.*]] = trn_isa.dma_copy copy
// CHECK:       %[[S:.*]] = trn_isa.affine_select greater_equal (%[[A]]) at (at_k = %k, at_m = %m) {on_false_value = "-1000", channel_multiplier = "1", step = "-1", offset = "(at_m - at_k)"} [gpsimd]
// CHECK-NEXT:  %[[P:.*]] = trn_isa.tensor_scalar immediate<op0 = less> (%[[S]]) {operand0 = "0"} [vector] : ({{.*}}) -> !tile.tile<["64", "256"], ui8, sbuf>
// CHECK-NEXT:  trn_isa.select_reduce value (%[[P]], %[[S]]) at (at_m = %m) {on_false = "at_m"} [vector]
func.func @masks(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
    attributes {tile.sizes = {m = "M", k = "K"}, tile.parameters = {m_part = "<= partitions", k_free = "<= free_elements_psum"}} {
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty(%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "m_part" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {
    %s = tile.for k.tile (%k, %kn) = %zero to %K step "k_free" (collect %p = %o : tensor<?x?xf32, ["M", "K"]>) {
      %a = tile.load %x[%m along p, %k along f] (%mn, %kn) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %b = tile.leaf "op leaf() <at_m: index, at_k: index> -> c[P, F] { c[p, f] = (if at_k + f <= at_m + p then 1 else 0) }" () at (at_m = %m, at_k = %k) sizes (%mn, %kn) : () -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %c = tile.leaf "op leaf(a[P, F], b[P, F]) -> c[P, F] { c[p, f] = (if b[p, f] == 1 then a[p, f] else -1000) }" (%a, %b) : (!tile.tile<["m_part", "k_free"], f32, sbuf>, !tile.tile<["m_part", "k_free"], f32, sbuf>) -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %d = tile.leaf "op leaf(a[P, F]) <at_m: index> -> c[P, F] { c[p, f] = (if a[p, f] < 0 then a[p, f] else at_m) }" (%c) at (at_m = %m) : (!tile.tile<["m_part", "k_free"], f32, sbuf>) -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %q = tile.store %d into %p[%m along p, %k along f] : !tile.tile<["m_part", "k_free"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
      tile.yield %q : tensor<?x?xf32, ["M", "K"]>
    }
    tile.yield %s : tensor<?x?xf32, ["M", "K"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}

// A recurrence is one instruction that goes on from the column that the loop carries; the last element of a row, a place
// known from the row's extent, is a column of its own.
// CHECK-LABEL: func.func @recurrence
// CHECK:       tile.for k.tile {{.*}} (carry %[[S:[0-9a-z]*]] =
// CHECK:         %[[V:.*]] = trn_isa.tensor_tensor_scan affine_column (%{{.*}}, %{{.*}}, %[[S]]) [vector]
// CHECK:         %[[L:.*]] = tile.index "n0 - 1" (n0 = %k_n)
// CHECK:         %[[C:.*]] = tile.extract %[[V]][%{{.*}}, %[[L]]]
// CHECK:         %[[N:.*]] = trn_isa.tensor_copy copy (%[[C]])
// CHECK:         tile.yield %[[N]]
func.func @recurrence(%a: tensor<?x?xf32, ["M", "K"]>, %b: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
    attributes {tile.sizes = {m = "M", k = "K"}, tile.parameters = {m_part = "<= partitions", k_free = "<= free_elements_psum"}} {
  %M = tile.index "M"
  %K = tile.index "K"
  %one = tile.index "1"
  %zero = tile.index "0"
  %out = tile.empty(%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %r = tile.for m.tile (%m, %m_n) = %zero to %M step "m_part" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {
    %start = tile.neutral "sum"(%m_n, %one) : !tile.tile<["m_part", "1"], f32, sbuf>
    %e, %t = tile.for k.tile (%k, %k_n) = %zero to %K step "k_free" (carry %s = %start : !tile.tile<["m_part", "1"], f32, sbuf>, collect %p = %o : tensor<?x?xf32, ["M", "K"]>) {
      %x = tile.load %a[%m along p, %k along f] (%m_n, %k_n) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %y = tile.load %b[%m along p, %k along f] (%m_n, %k_n) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %v = tile.leaf "op leaf(x0[P, F], x1[P, F], x2[P, 1]) -> c[P, F] { c[p, f] = add(mul(x2[p, 0], prod(j < f + 1: x0[p, j])), sum(j < f + 1: mul(x1[p, j], prod(i < f - j: x0[p, j + 1 + i])))) }" (%x, %y, %s) : (!tile.tile<["m_part", "k_free"], f32, sbuf>, !tile.tile<["m_part", "k_free"], f32, sbuf>, !tile.tile<["m_part", "1"], f32, sbuf>) -> !tile.tile<["m_part", "k_free"], f32, sbuf> dims ["m", "k"]
      %l = tile.leaf "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = a[p, F - 1] }" (%v) : (!tile.tile<["m_part", "k_free"], f32, sbuf>) -> !tile.tile<["m_part", "1"], f32, sbuf> dims ["m", ""]
      %q = tile.store %v into %p[%m along p, %k along f] : !tile.tile<["m_part", "k_free"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
      tile.yield %l, %q : !tile.tile<["m_part", "1"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
    }
    tile.yield %t : tensor<?x?xf32, ["M", "K"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}
