// RUN: axon-opt %s | filecheck %s
// RUN: axon-opt %s | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | axon-opt | filecheck %s

// CHECK-LABEL: func.func @all
func.func @all(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %xv = tile.load %x[%zero along p, %zero along f] (%M, %K) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["min(128, M)", "K"], f32, hbm>
  // CHECK: %[[A:.*]] = trn_isa.dma_copy copy (%{{.*}}) [dma] : (!tile.tile<["min(128, M)", "K"], f32, hbm>) -> !tile.tile<["min(128, M)", "K"], f32, sbuf>
  %a = trn_isa.dma_copy copy (%xv) [dma] : (!tile.tile<["min(128, M)", "K"], f32, hbm>) -> !tile.tile<["min(128, M)", "K"], f32, sbuf>
  // CHECK: trn_isa.memset fill () sizes (%{{.*}}, %{{.*}}) {value = "0"} [vector, gpsimd] : () -> !tile.tile<["min(128, M)", "1"], f32, sbuf>
  %z = trn_isa.memset fill () sizes (%M, %one) {value = "0"} [vector, gpsimd] : () -> !tile.tile<["min(128, M)", "1"], f32, sbuf>
  // CHECK: trn_isa.tensor_scalar immediate<op0 = mul> (%[[A]]) {operand0 = "1 / K"} [vector] : (!tile.tile<["min(128, M)", "K"], f32, sbuf>) -> !tile.tile<["min(128, M)", "K"], f32, sbuf>
  %b = trn_isa.tensor_scalar immediate<op0 = mul> (%a) {operand0 = "1 / K"} [vector] : (!tile.tile<["min(128, M)", "K"], f32, sbuf>) -> !tile.tile<["min(128, M)", "K"], f32, sbuf>
  // CHECK: trn_isa.activation plain_sum<fn = square> (%{{.*}}) [] attributes {remembered = [#trn_isa.storage<"sq", sbuf, 128, 4>, unit]} : (!tile.tile<["min(128, M)", "K"], f32, sbuf>) -> (!tile.tile<["min(128, M)", "K"], f32, sbuf>, !tile.tile<["min(128, M)", "1"], f32, sbuf>)
  %sq, %ss = trn_isa.activation plain_sum<fn = square> (%b) [] attributes {remembered = [#trn_isa.storage<"sq", sbuf, 128, 4>, unit]} : (!tile.tile<["min(128, M)", "K"], f32, sbuf>) -> (!tile.tile<["min(128, M)", "K"], f32, sbuf>, !tile.tile<["min(128, M)", "1"], f32, sbuf>)
  %acc = tile.neutral "sum" (%one, %one) : !tile.tile<["1", "1"], f32, psum>
  // CHECK: trn_isa.nc_matmul accumulate (%{{.*}}, %{{.*}}) outs %{{.*}} [tensor] : (!tile.tile<["min(128, M)", "1"], f32, sbuf>, !tile.tile<["min(128, M)", "1"], f32, sbuf>) -> !tile.tile<["1", "1"], f32, psum>
  %c = trn_isa.nc_matmul accumulate (%ss, %z) outs %acc [tensor] : (!tile.tile<["min(128, M)", "1"], f32, sbuf>, !tile.tile<["min(128, M)", "1"], f32, sbuf>) -> !tile.tile<["1", "1"], f32, psum>
  %sv = trn_isa.dma_copy copy (%sq) [dma] : (!tile.tile<["min(128, M)", "K"], f32, sbuf>) -> !tile.tile<["min(128, M)", "K"], f32, hbm>
  %r = tile.store %sv into %out[%zero along p, %zero along f] : !tile.tile<["min(128, M)", "K"], f32, hbm>, tensor<?x?xf32, ["M", "K"]>
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}

// Positions over indices that are operands.
// CHECK-LABEL: func.func @positions
func.func @positions(%x: tensor<?x?xf32, ["M", "K"]>) {
  %m = tile.index "3"
  %M = tile.index "M"
  %K = tile.index "K"
  // CHECK: %[[I:.*]] = trn_isa.iota rows () at (at_m = %m) sizes (%M, %K) {step = "1", offset = "at_m * K", channel_multiplier = "K"} [gpsimd] : () -> !tile.tile<["min(128, M)", "K"], f32, sbuf>
  %i = trn_isa.iota rows () at (at_m = %m) sizes (%M, %K) {step = "1", offset = "at_m * K", channel_multiplier = "K"} [gpsimd] : () -> !tile.tile<["min(128, M)", "K"], f32, sbuf>
  // CHECK: trn_isa.affine_select less (%[[I]]) at (at_m = %m) {on_false_value = "at_m / 2", step = "-1", offset = "0", channel_multiplier = "1"} [gpsimd]
  %s = trn_isa.affine_select less (%i) at (at_m = %m) {on_false_value = "at_m / 2", step = "-1", offset = "0", channel_multiplier = "1"} [gpsimd] : (!tile.tile<["min(128, M)", "K"], f32, sbuf>) -> !tile.tile<["min(128, M)", "K"], f32, sbuf>
  // CHECK: %[[P:.*]] = trn_isa.tensor_scalar immediate<op0 = greater> (%{{.*}}) {operand0 = "0"} [vector] : ({{.*}}) -> !tile.tile<["min(128, M)", "K"], ui8, sbuf>
  %p = trn_isa.tensor_scalar immediate<op0 = greater> (%s) {operand0 = "0"} [vector] : (!tile.tile<["min(128, M)", "K"], f32, sbuf>) -> !tile.tile<["min(128, M)", "K"], ui8, sbuf>
  // CHECK: trn_isa.tensor_copy_predicated tile (%[[I]], %[[P]]) outs %{{.*}} [vector]
  %c = trn_isa.tensor_copy_predicated tile (%i, %p) outs %s [vector] : (!tile.tile<["min(128, M)", "K"], f32, sbuf>, !tile.tile<["min(128, M)", "K"], ui8, sbuf>) -> !tile.tile<["min(128, M)", "K"], f32, sbuf>
  func.return
}
