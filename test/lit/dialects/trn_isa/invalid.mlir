// RUN: axon-opt %s --split-input-file --verify-diagnostics

// Forms are those of the description.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{'trn_isa.tensor_copy' op unknown form 'move'; accepted: copy}}
  %r = trn_isa.tensor_copy move (%a) [] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// Operands are counted.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{form binary takes 2 tiles (data1, data2), not 1}}
  %r = trn_isa.tensor_tensor binary<fn = add> (%a) [] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// An accumulator is named.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "128"], f32, sbuf>
  // expected-error@+1 {{form accumulate takes an accumulator (outs)}}
  %r = trn_isa.nc_matmul accumulate (%a, %a) [] : (!tile.tile<["128", "128"], f32, sbuf>, !tile.tile<["128", "128"], f32, sbuf>) -> !tile.tile<["128", "128"], f32, psum>
  func.return
}

// -----

// Functions are members of their class.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{'fn' cannot be 'exp'; accepted: add, sub, mul, max, min}}
  %r = trn_isa.tensor_tensor binary<fn = exp> (%a, %a) [] : (!tile.tile<["128", "512"], f32, sbuf>, !tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// Attributes are complete.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{form binary needs the attribute 'fn'}}
  %r = trn_isa.tensor_tensor binary (%a, %a) [] : (!tile.tile<["128", "512"], f32, sbuf>, !tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// Immediates are complete.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{form immediate takes the immediates operand0, not none}}
  %r = trn_isa.tensor_scalar immediate<op0 = mul> (%a) [] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// Immediates parse.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{immediate operand0: meaning '1 /' does not parse}}
  %r = trn_isa.tensor_scalar immediate<op0 = mul> (%a) {operand0 = "1 /"} [] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// Immediates are over the sizes of the program.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{immediate operand0: Q is no size of the function}}
  %r = trn_isa.tensor_scalar immediate<op0 = mul> (%a) {operand0 = "1 / Q"} [] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// Sizes that no tile has are given.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  // expected-error@+1 {{form fill takes 2 sizes (P, F), not 1}}
  %r = trn_isa.memset fill () sizes (%M) {value = "0"} [] : () -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// PSUM is out of reach of a DMA.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, psum>
  // expected-error@+1 {{src is in psum; dma_copy.copy takes it in hbm or sbuf}}
  %r = trn_isa.dma_copy copy (%a) [] : (!tile.tile<["128", "512"], f32, psum>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// Numbers are checked against the limits of the device.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "128"], f32, sbuf>
  %b = tile.empty (%M, %K) : !tile.tile<["128", "513"], f32, sbuf>
  // expected-error@+1 {{nc_matmul.overwrite: N = 513 exceeds moving_free = 512 [limit; NKI}}
  %r = trn_isa.nc_matmul overwrite (%a, %b) [] : (!tile.tile<["128", "128"], f32, sbuf>, !tile.tile<["128", "513"], f32, sbuf>) -> !tile.tile<["128", "513"], f32, psum>
  func.return
}

// -----

// A bound that is a minimum is at most each of its terms.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["min(129, M)", "128"], f32, sbuf>
  // expected-error@+1 {{K = 129 exceeds partitions = 128}}
  %r = trn_isa.nc_matmul overwrite (%a, %a) [] : (!tile.tile<["min(129, M)", "128"], f32, sbuf>, !tile.tile<["min(129, M)", "128"], f32, sbuf>) -> !tile.tile<["128", "128"], f32, psum>
  func.return
}

// -----

// Sizes with numbers are checked too.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) attributes {axon.values = {M = 300 : i64}} {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["M", "512"], f32, sbuf>
  // expected-error@+1 {{P = 300 exceeds partitions = 128}}
  %r = trn_isa.tensor_copy copy (%a) [] : (!tile.tile<["M", "512"], f32, sbuf>) -> !tile.tile<["M", "512"], f32, sbuf>
  func.return
}

// -----

// An engine must be able to run the form.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, psum>
  // expected-error@+1 {{does not run on engine 'tensor' of trn2; accepted: vector, scalar}}
  %r = trn_isa.tensor_copy copy (%a) [tensor] : (!tile.tile<["128", "512"], f32, psum>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// A column has one element per partition.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  %b = tile.empty (%M, %K) : !tile.tile<["128", "2"], f32, sbuf>
  // expected-error@+1 {{axis 1 of operand0 is 2; tensor_scalar.tensor takes 1}}
  %r = trn_isa.tensor_scalar tensor<op0 = mul> (%a, %b) [] : (!tile.tile<["128", "512"], f32, sbuf>, !tile.tile<["128", "2"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// Element types are those of the description.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  %a = tile.empty (%M, %K) : !tile.tile<["128", "512"], f32, sbuf>
  %b = tile.empty (%M, %K) : !tile.tile<["128", "1"], bf16, sbuf>
  // expected-error@+1 {{operand0 is bfloat16; tensor_scalar.tensor takes float32}}
  %r = trn_isa.tensor_scalar tensor<op0 = mul> (%a, %b) [] : (!tile.tile<["128", "512"], f32, sbuf>, !tile.tile<["128", "1"], bf16, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// A position that nobody gives.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  // expected-error@+1 {{immediate offset: at_m is no size of the function}}
  %r = trn_isa.iota rows () sizes (%M, %K) {step = "1", offset = "at_m", channel_multiplier = "0"} [gpsimd] : () -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// A position is an index.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  // expected-error@+1 {{immediate step: '1 / 2' is not an index expression}}
  %r = trn_isa.iota rows () sizes (%M, %K) {step = "1 / 2", offset = "0", channel_multiplier = "0"} [gpsimd] : () -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// All positions are stated.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  // expected-error@+1 {{form rows takes the immediates step, offset, channel_multiplier, not step}}
  %r = trn_isa.iota rows () sizes (%M, %K) {step = "1"} [gpsimd] : () -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}

// -----

// The name of a place cannot be taken for a size.
func.func @f(%x: tensor<?x?xf32, ["M", "K"]>) {
  %M = tile.index "M"
  %K = tile.index "K"
  // expected-error@+1 {{'m' is not the name of a place; accepted: at_m}}
  %r = trn_isa.iota rows () at (m = %M) sizes (%M, %K) {step = "1", offset = "m", channel_multiplier = "0"} [gpsimd] : () -> !tile.tile<["128", "512"], f32, sbuf>
  func.return
}
