// RUN: axon-opt %s | axon-opt | filecheck %s
// RUN: axon-opt --print-op-generic %s | axon-opt | filecheck %s

// CHECK-LABEL: func.func @every_operation
func.func @every_operation(%x: tensor<?x?xbf16, ["M", "K"]>, %g: tensor<?xf32, ["K"]>) -> tensor<?x?xbf16, ["M", "K"]> {
  // CHECK: %zero = tile.index "0"
  %zero = tile.index "0"
  // CHECK-NEXT: %{{.*}} = tile.index "min(128, M)"
  %part = tile.index "min(128, M)"
  %M = tile.index "M"
  %K = tile.index "K"
  // CHECK: %{{.*}} = tile.index "a + 2 * b // 3" (a = %M, b = %K)
  %sum = tile.index "a + 2 * b // 3" (a = %M, b = %K)
  // CHECK-NEXT: %{{.*}} = tile.empty(%M, %K) : tensor<?x?xbf16, ["M", "K"]>
  %out = tile.empty (%M, %K) : tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tile.for m.block (%m, %m_n) = %zero to %M step "m_block" (collect %{{.*}} = %{{.*}} : tensor<?x?xbf16, ["M", "K"]>) {
  %r = tile.for m.block (%m, %m_n) = %zero to %M step "m_block" (collect %o = %out : tensor<?x?xbf16, ["M", "K"]>) {
    // CHECK: tile.empty(%m_n, %K) : !tile.tile<["m_block", "K"], f32, sbuf>
    %held = tile.empty (%m_n, %K) : !tile.tile<["m_block", "K"], f32, sbuf>
    // CHECK: tile.neutral "sum"(%m_n, %{{.*}}) : !tile.tile<["m_block", "1"], f32, sbuf>
    %one = tile.index "1"
    %acc = tile.neutral "sum" (%m_n, %one) : !tile.tile<["m_block", "1"], f32, sbuf>
    // CHECK: tile.for k.tile (%k, %k_n) = %zero to %K step "512" (sum %{{.*}} = %{{.*}} : !tile.tile<["m_block", "1"], f32, sbuf>, collect %{{.*}} = %{{.*}} : !tile.tile<["m_block", "K"], f32, sbuf>) {
    %s, %h = tile.for k.tile (%k, %k_n) = %zero to %K step "512" (sum %a = %acc : !tile.tile<["m_block", "1"], f32, sbuf>, collect %b = %held : !tile.tile<["m_block", "K"], f32, sbuf>) {
      // CHECK: tile.load %x[%m along p, %k along f] (%m_n, %k_n) : tensor<?x?xbf16, ["M", "K"]> -> !tile.tile<["m_block", "512"], f32, sbuf> dims ["m", "k"]
      %t = tile.load %x[%m along p, %k along f] (%m_n, %k_n) : tensor<?x?xbf16, ["M", "K"]> -> !tile.tile<["m_block", "512"], f32, sbuf> dims ["m", "k"]
      // CHECK: tile.load %g[%k along f] (%m_n, %k_n) : tensor<?xf32, ["K"]> -> !tile.tile<["m_block", "512"], f32, sbuf>
      %w = tile.load %g[%k along f] (%m_n, %k_n) : tensor<?xf32, ["K"]> -> !tile.tile<["m_block", "512"], f32, sbuf>
      // CHECK: tile.load %x[%m, %k along f] (%{{.*}}, %k_n) : tensor<?x?xbf16, ["M", "K"]> -> !tile.tile<["1", "512"], bf16, hbm>
      %row = tile.load %x[%m, %k along f] (%one, %k_n) : tensor<?x?xbf16, ["M", "K"]> -> !tile.tile<["1", "512"], bf16, hbm>
      // CHECK: tile.leaf "op leaf(a[P, F], b[P, F]) <size_K: index> -> c[P, F] { c[p, f] = a[p, f] * b[p, f] / size_K }" (%{{.*}}, %{{.*}}) : (!tile.tile<["m_block", "512"], f32, sbuf>, !tile.tile<["m_block", "512"], f32, sbuf>) -> !tile.tile<["m_block", "512"], f32, sbuf> dims ["m", "k"]
      %p = tile.leaf "op leaf(a[P, F], b[P, F]) <size_K: index> -> c[P, F] { c[p, f] = a[p, f] * b[p, f] / size_K }" (%t, %w) : (!tile.tile<["m_block", "512"], f32, sbuf>, !tile.tile<["m_block", "512"], f32, sbuf>) -> !tile.tile<["m_block", "512"], f32, sbuf> dims ["m", "k"]
      // CHECK: tile.leaf "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = sum(q < F: a[p, q]) }" (%{{.*}}) sum into %{{.*}} : (!tile.tile<["m_block", "512"], f32, sbuf>) -> !tile.tile<["m_block", "1"], f32, sbuf>
      %a1 = tile.leaf "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = sum(q < F: a[p, q]) }" (%p) sum into %a : (!tile.tile<["m_block", "512"], f32, sbuf>) -> !tile.tile<["m_block", "1"], f32, sbuf>
      // CHECK: tile.insert %{{.*}} into %{{.*}}[%zero, %k] : !tile.tile<["m_block", "512"], f32, sbuf>, !tile.tile<["m_block", "K"], f32, sbuf> -> !tile.tile<["m_block", "K"], f32, sbuf>
      %b1 = tile.insert %p into %b[%zero, %k] : !tile.tile<["m_block", "512"], f32, sbuf>, !tile.tile<["m_block", "K"], f32, sbuf> -> !tile.tile<["m_block", "K"], f32, sbuf>
      // CHECK: tile.yield %{{.*}}, %{{.*}} : !tile.tile<["m_block", "1"], f32, sbuf>, !tile.tile<["m_block", "K"], f32, sbuf>
      tile.yield %a1, %b1 : !tile.tile<["m_block", "1"], f32, sbuf>, !tile.tile<["m_block", "K"], f32, sbuf>
    }
    // CHECK: tile.extract %{{.*}}[%zero, %zero] (%m_n, %K) : !tile.tile<["m_block", "K"], f32, sbuf> -> !tile.tile<["m_block", "K"], f32, sbuf>
    %e = tile.extract %h[%zero, %zero] (%m_n, %K) : !tile.tile<["m_block", "K"], f32, sbuf> -> !tile.tile<["m_block", "K"], f32, sbuf>
    %c = tile.leaf "op leaf(a[P, F], b[P, 1]) -> c[P, F] { c[p, f] = max(a[p, f], b[p, 0]) }" (%e, %s) : (!tile.tile<["m_block", "K"], f32, sbuf>, !tile.tile<["m_block", "1"], f32, sbuf>) -> !tile.tile<["m_block", "K"], bf16, sbuf>
    // CHECK: tile.store %{{.*}} into %{{.*}}[%m along p, %zero along f] : !tile.tile<["m_block", "K"], bf16, sbuf>, tensor<?x?xbf16, ["M", "K"]>
    %q = tile.store %c into %o[%m along p, %zero along f] : !tile.tile<["m_block", "K"], bf16, sbuf>, tensor<?x?xbf16, ["M", "K"]>
    // CHECK: tile.yield
    tile.yield %q : tensor<?x?xbf16, ["M", "K"]>
  }
  func.return %r : tensor<?x?xbf16, ["M", "K"]>
}

// A loop may carry nothing, or a recurrence that no monoid describes; a dimension's name may hold a number.
// CHECK-LABEL: func.func @loops
func.func @loops(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = tile.index "0"
  %four = tile.index "4"
  // CHECK: tile.for d_2.strip (%i, %i_n) = %zero to %four step "3" {
  // CHECK-NEXT: tile.yield
  tile.for d_2.strip (%i, %i_n) = %zero to %four step "3" {
    tile.yield
  }
  // CHECK: tile.for d_2.strip (%j, %j_n) = %zero to %four step "2 * s" (carry %{{.*}} = %x : tensor<4x4xf32>) {
  %r = tile.for d_2.strip (%j, %j_n) = %zero to %four step "2 * s" (carry %c = %x : tensor<4x4xf32>) {
    tile.yield %c : tensor<4x4xf32>
  }
  func.return %r : tensor<4x4xf32>
}

// Every second column.
// CHECK-LABEL: func.func @steps
// CHECK:       tile.load %x[%0 along p, %0 along f by 2] (%1, %2)
func.func @steps(%x: tensor<?x?xf32, ["M", "2 * K"]>) {
  %0 = tile.index "0"
  %1 = tile.index "M"
  %2 = tile.index "K"
  %t = tile.load %x[%0 along p, %0 along f by 2] (%1, %2) : tensor<?x?xf32, ["M", "2 * K"]> -> !tile.tile<["M", "K"], f32, sbuf>
  func.return
}

// A leaf knows where it stands, and how large it is where no operand says so.
// CHECK-LABEL: func.func @places
func.func @places(%x: tensor<?x?xf32, ["M", "K"]>) {
  %m = tile.index "3"
  %k = tile.index "0"
  %mn = tile.index "M - 3"
  %kn = tile.index "K"
  %t = tile.load %x[%m along p, %k along f] (%mn, %kn) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["M", "K"], f32, sbuf>
  // CHECK: tile.leaf "op leaf(x0[P, F]) <at_m: index, at_k: index, size_K: index> -> c[P, F] { c[p, f] = (if at_k + f <= at_m + p then x0[p, f] else size_K) }" (%t) at (at_m = %m, at_k = %k) : (!tile.tile<["M", "K"], f32, sbuf>) -> !tile.tile<["M", "K"], f32, sbuf>
  %a = tile.leaf "op leaf(x0[P, F]) <at_m: index, at_k: index, size_K: index> -> c[P, F] { c[p, f] = (if at_k + f <= at_m + p then x0[p, f] else size_K) }" (%t) at (at_m = %m, at_k = %k) : (!tile.tile<["M", "K"], f32, sbuf>) -> !tile.tile<["M", "K"], f32, sbuf>
  // CHECK: tile.leaf "op leaf() <at_m: index> -> c[P, F] { c[p, f] = at_m + p }" () at (at_m = %m) sizes (%mn, %kn) : () -> !tile.tile<["M", "K"], f32, sbuf>
  %b = tile.leaf "op leaf() <at_m: index> -> c[P, F] { c[p, f] = at_m + p }" () at (at_m = %m) sizes (%mn, %kn) : () -> !tile.tile<["M", "K"], f32, sbuf>
  // CHECK: tile.leaf "op leaf(a[P, 1]) -> c[P, F] { c[p, f] = mul(a[p, 0], f) }" (%{{.*}}) sizes (%kn) sum into %b : (!tile.tile<["M", "1"], f32, sbuf>) -> !tile.tile<["M", "K"], f32, sbuf>
  %one = tile.index "1"
  %col = tile.load %x[%m along p, %k] (%mn, %one) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["M", "1"], f32, sbuf>
  %c = tile.leaf "op leaf(a[P, 1]) -> c[P, F] { c[p, f] = mul(a[p, 0], f) }" (%col) sizes (%kn) sum into %b : (!tile.tile<["M", "1"], f32, sbuf>) -> !tile.tile<["M", "K"], f32, sbuf>
  func.return
}
