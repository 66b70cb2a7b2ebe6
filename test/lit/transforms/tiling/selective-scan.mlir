// RUN: axon-opt %s -p tile-symbolic,tile-fuse --smt-verify-each | filecheck %s
// RUN: axon-opt %s -p tile-symbolic,tile-fuse | axon-opt -p tile-fuse | filecheck %s
// RUN: axon-opt %s -p tile-symbolic,tile-fuse,tile-instantiate,isa-select --smt-verify-each | filecheck %s --check-prefix=ISA

// The selective scan: what a scan is made of lies as it does, rows along time, and each row of states is gone through
// before the next. The sum over states is added up in rows on chip; the result is stored in the order of its axes.
// CHECK-LABEL: func.func @selective
// CHECK:       tile.for c.tile {{.*}} step "c_part"
// CHECK:         tile.for t.tile {{.*}} step "t_free"
// CHECK:           tile.load %u
// CHECK:         %[[N:.*]] = tile.neutral "sum"(%{{.*}}, %{{.*}}) : !tile.tile<["c_part", "T"], f32, sbuf>
// CHECK:         tile.for [[S:s_[0-9]]].tile {{.*}} step "1" (sum %[[Y:.*]] = %[[N]]
// CHECK:           tile.load %a
// CHECK:           %[[Z:.*]] = tile.neutral "sum"(%{{.*}}, %{{.*}}) : !tile.tile<["c_part", "1"], f32, sbuf>
// CHECK:           tile.for t.tile {{.*}} step "t_free" (carry %{{.*}} = %[[Z]] : {{.*}}, collect %[[P:.*]] = %[[Y]]
// CHECK-NOT:         tile.load %delta
// CHECK:             prod(j < f + 1: x0[p, j])
// CHECK:             tile.leaf "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = a[p, F - 1] }"
// CHECK:             %[[Q:.*]] = tile.extract %[[P]]
// CHECK:             tile.leaf {{.*}} sum into %[[Q]]
// CHECK:         tile.store {{.*}}[%{{.*}} along p, %{{.*}} along f]
// CHECK-NOT:   tile.for

// ISA:         trn_isa.activation {{.*}}fn = exp
// ISA:         trn_isa.tensor_tensor_scan affine_column
func.func @selective(%delta: tensor<?x?xf32, ["C", "T"]>, %u: tensor<?x?xf32, ["C", "T"]>, %a: tensor<?x?xf32, ["C", "S"]>, %b: tensor<?x?xf32, ["S", "T"]>, %c: tensor<?x?xf32, ["S", "T"]>) -> tensor<?x?xf32, ["C", "T"]>
    attributes {axon.values = {C = 256 : i64, T = 1000 : i64, S = 16 : i64}} {
  %0 = tensor_hl.transpose %delta perm [1, 0] : tensor<?x?xf32, ["C", "T"]> -> tensor<?x?xf32, ["T", "C"]>
  %1 = tensor_hl.broadcast %0 dims [0, 1] : tensor<?x?xf32, ["T", "C"]> -> tensor<?x?x?xf32, ["T", "C", "S"]>
  %2 = tensor_hl.broadcast %a dims [1, 2] : tensor<?x?xf32, ["C", "S"]> -> tensor<?x?x?xf32, ["T", "C", "S"]>
  %3 = tensor_hl.mul %1, %2 : tensor<?x?x?xf32, ["T", "C", "S"]>
  %4 = tensor_hl.exp %3 : tensor<?x?x?xf32, ["T", "C", "S"]>
  %5 = tensor_hl.transpose %b perm [1, 0] : tensor<?x?xf32, ["S", "T"]> -> tensor<?x?xf32, ["T", "S"]>
  %6 = tensor_hl.broadcast %5 dims [0, 2] : tensor<?x?xf32, ["T", "S"]> -> tensor<?x?x?xf32, ["T", "C", "S"]>
  %7 = tensor_hl.transpose %u perm [1, 0] : tensor<?x?xf32, ["C", "T"]> -> tensor<?x?xf32, ["T", "C"]>
  %8 = tensor_hl.mul %0, %7 : tensor<?x?xf32, ["T", "C"]>
  %9 = tensor_hl.broadcast %8 dims [0, 1] : tensor<?x?xf32, ["T", "C"]> -> tensor<?x?x?xf32, ["T", "C", "S"]>
  %10 = tensor_hl.mul %9, %6 : tensor<?x?x?xf32, ["T", "C", "S"]>
  %11 = tensor_hl.affine_scan %4, %10 axis 0 : tensor<?x?x?xf32, ["T", "C", "S"]>
  %12 = tensor_hl.transpose %c perm [1, 0] : tensor<?x?xf32, ["S", "T"]> -> tensor<?x?xf32, ["T", "S"]>
  %13 = tensor_hl.broadcast %12 dims [0, 2] : tensor<?x?xf32, ["T", "S"]> -> tensor<?x?x?xf32, ["T", "C", "S"]>
  %14 = tensor_hl.mul %11, %13 : tensor<?x?x?xf32, ["T", "C", "S"]>
  %15 = tensor_hl.reduce sum %14 axes [2] : tensor<?x?x?xf32, ["T", "C", "S"]> -> tensor<?x?xf32, ["T", "C"]>
  %16 = tensor_hl.transpose %15 perm [1, 0] : tensor<?x?xf32, ["T", "C"]> -> tensor<?x?xf32, ["C", "T"]>
  func.return %16 : tensor<?x?xf32, ["C", "T"]>
}
