// RUN: axon-opt %s -p tile-symbolic | filecheck %s
// RUN: axon-opt %s -p tile-symbolic | axon-opt | filecheck %s

// Every operation is a nest of its own; what it computes goes to HBM.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:  tile.sizes = {m = "M", k = "K"}, tile.parameters = {m_part = "<= partitions", k_free = "<= free_elements_psum"}
// CHECK:       tile.for m.tile {{.*}} step "m_part" (collect
// CHECK-NEXT:    tile.for k.tile {{.*}} step "k_free" (collect
// CHECK-NEXT:      tile.load %x[%m along p, %k along f]
// CHECK-NEXT:      tile.load %y[%m along p, %k along f]
// CHECK-NEXT:      tile.leaf "op leaf(x0[P, F], x1[P, F]) -> c[P, F] { c[p, f] = mul(x0[p, f], x1[p, f]) }"
// CHECK-NEXT:      tile.store
// CHECK:       %[[R:.*]] = tile.for m.tile
// CHECK-NEXT:    tile.for k.tile
// CHECK-NEXT:      tile.load
// CHECK-NEXT:      tile.leaf "op leaf(x0[P, F]) -> c[P, F] { c[p, f] = exp(x0[p, f]) }"
// CHECK-NEXT:      tile.store
// CHECK:       func.return %[[R]]
func.func @chain(%x: tensor<?x?xf32, ["M", "K"]>, %y: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.mul %x, %y : tensor<?x?xf32, ["M", "K"]>
  %1 = tensor_hl.exp %0 : tensor<?x?xf32, ["M", "K"]>
  func.return %1 : tensor<?x?xf32, ["M", "K"]>
}

// The folded dimension of a contraction lies on partitions; sums stand in PSUM in f32 and are rounded once, by a copy.
// CHECK-LABEL: func.func @contraction
// CHECK-SAME:  n_moving = "<= moving_free"
// CHECK:       tile.neutral "sum"(%m_n, %n_n) : !tile.tile<["m_part", "n_moving"], f32, psum>
// CHECK-NEXT:  tile.for k.tile {{.*}} step "k_part" (sum
// CHECK-NEXT:    tile.load %x[%k along p, %m along f]
// CHECK-NEXT:    tile.load %w[%k along p, %n along f]
// CHECK-NEXT:    tile.leaf "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: mul(a[k, m], b[k, n])) }" {{.*}} sum into
// CHECK:       tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }" {{.*}} -> !tile.tile<["m_part", "n_moving"], bf16, sbuf>
func.func @contraction(%x: tensor<?x?xbf16, ["K", "M"]>, %w: tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {
  %0 = tensor_hl.matmul %x, %w lhs [0] rhs [0] : (tensor<?x?xbf16, ["K", "M"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
  func.return %0 : tensor<?x?xbf16, ["M", "N"]>
}

// A reduction folds along the free axis into a column; broadcasts are read through.
// CHECK-LABEL: func.func @rows
// CHECK:       tile.for k.tile {{.*}} step "k_free" (max
// CHECK:         tile.leaf "op leaf(x0[P, F]) -> c[P, 1] { c[p, 0] = max(q < F: x0[p, q]) }" {{.*}} max into
// CHECK:       tile.leaf "op leaf(x0[P, F], x1[P, 1]) -> c[P, F] { c[p, f] = sub(x0[p, f], x1[p, 0]) }"
// CHECK-NOT:   tile.leaf
func.func @rows(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.reduce max %x axes [1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["M"]>
  %1 = tensor_hl.broadcast %0 dims [0] : tensor<?xf32, ["M"]> -> tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.sub %x, %1 : tensor<?x?xf32, ["M", "K"]>
  func.return %2 : tensor<?x?xf32, ["M", "K"]>
}

// A size used as a number is an attribute of the leaf's meaning.
// CHECK-LABEL: func.func @size
// CHECK:       tile.leaf "op leaf(x0[P, F]) <size_K: index> -> c[P, F] { c[p, f] = div(x0[p, f], (size_K)) }"
func.func @size(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %n = tensor_hl.size "K" : tensor<f32>
  %1 = tensor_hl.broadcast %n dims [] : tensor<f32> -> tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.div %x, %1 : tensor<?x?xf32, ["M", "K"]>
  func.return %2 : tensor<?x?xf32, ["M", "K"]>
}

// What no result needs is not tiled; an argument that is returned is copied.
// CHECK-LABEL: func.func @unused
// CHECK:       tile.load %x
// CHECK-NEXT:  tile.store
// CHECK-NOT:   tile.load
func.func @unused(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.exp %x : tensor<?x?xf32, ["M", "K"]>
  func.return %x : tensor<?x?xf32, ["M", "K"]>
}

// A sum over partitions is a product with ones; a computed row is put on every partition by a product with ones.
// CHECK-LABEL: func.func @columns
// CHECK:       %[[ONES:.*]] = tile.neutral "prod"(%{{.*}}, %{{.*}}) : !tile.tile<["m_part", "1"], f32, sbuf>
// CHECK:       tile.leaf "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: mul(a[k, m], b[k, n])) }" {{.*}} sum into
// CHECK-SAME:  -> !tile.tile<["1", "k_moving"], f32, psum>
// CHECK:       %[[ROW:.*]] = tile.load %{{.*}}[%{{.*}} along f] {{.*}} dims ["", "k"]
// CHECK:       tile.leaf "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: mul(a[k, m], b[k, n])) }" (%{{.*}}, %[[ROW]])
// CHECK-SAME:  -> !tile.tile<["m_part", "k_moving"], f32, psum> dims ["*m_part", "k"]
func.func @columns(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.reduce sum %x axes [0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["K"]>
  %1 = tensor_hl.broadcast %0 dims [1] : tensor<?xf32, ["K"]> -> tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.sub %x, %1 : tensor<?x?xf32, ["M", "K"]>
  func.return %2 : tensor<?x?xf32, ["M", "K"]>
}

// A computed column becomes a row: turned, then multiplied with ones.
// CHECK-LABEL: func.func @maxima
// CHECK:       %[[COLUMN:.*]] = tile.load %{{.*}}[%{{.*}} along p] {{.*}} dims ["k", ""]
// CHECK-NEXT:  %[[TURNED:.*]] = tile.leaf "op leaf(a[P, F]) -> c[F, P] { c[f, p] = a[p, f] }" (%[[COLUMN]])
// CHECK-SAME:  -> !tile.tile<["1", "k_part"], f32, psum>
// CHECK-NEXT:  %[[ROW:.*]] = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }" (%[[TURNED]])
// CHECK-NEXT:  tile.leaf "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: mul(a[k, m], b[k, n])) }" (%{{.*}}, %[[ROW]])
func.func @maxima(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.reduce max %x axes [0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["K"]>
  %1 = tensor_hl.broadcast %0 dims [1] : tensor<?xf32, ["K"]> -> tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.sub %x, %1 : tensor<?x?xf32, ["M", "K"]>
  func.return %2 : tensor<?x?xf32, ["M", "K"]>
}

// An operand may be turned on its way by the DMA: a view of HBM, and a transpose into SBUF.
// CHECK-LABEL: func.func @on_its_way
// CHECK:       %[[SEEN:.*]] = tile.load %x[%{{.*}} along p, %{{.*}} along f] {{.*}} -> !tile.tile<["m_part", "k_part"], bf16, hbm>
// CHECK-NEXT:  tile.leaf "op leaf(a[P, F]) -> c[F, P] { c[f, p] = a[p, f] }" (%[[SEEN]])
// CHECK-SAME:  -> !tile.tile<["k_part", "m_part"], bf16, sbuf>
func.func @on_its_way(%x: tensor<?x?xbf16, ["M", "K"]>, %w: tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
    attributes {tile.structure = {transpose = "dma"}} {
  %0 = tensor_hl.matmul %x, %w lhs [1] rhs [0] : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
  func.return %0 : tensor<?x?xbf16, ["M", "N"]>
}
