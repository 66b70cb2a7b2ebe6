// RUN: axon-opt %s -p isa-allocate --split-input-file --verify-diagnostics

// More than a partition of SBUF holds.
// expected-error@+1 {{function big needs 262144 bytes of a partition in sbuf (the last for 'a'; the largest are a 262144); trn2 has 212984}}
func.func @big(%x: tensor<?x?xf32, ["M", "K"]>) attributes {axon.values = {M = 128 : i64, K = 65536 : i64}} {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  %a = trn_isa.memset fill () sizes (%c128, %K) {value = "0"} [] : () -> !tile.tile<["128", "K"], f32, sbuf>
  func.return
}

// -----

// Sizes without numbers decide nothing.
func.func @open(%x: tensor<?x?xf32, ["M", "K"]>) {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  // expected-error@+1 {{no number bounds a tile of [128, K]}}
  %a = trn_isa.memset fill () sizes (%c128, %K) {value = "0"} [] : () -> !tile.tile<["128", "K"], f32, sbuf>
  func.return
}

// -----

// A value in two places.
func.func @twice(%x: tensor<?x?xf32, ["M", "K"]>) -> (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>) attributes {axon.values = {M = 300 : i64, K = 512 : i64}} {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  %o1 = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %o2 = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %av = tile.load %x[%zero along p, %zero along f] (%c128, %c512) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "512"], f32, hbm>
  %a = trn_isa.dma_copy copy (%av) [dma] : (!tile.tile<["128", "512"], f32, hbm>) -> !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{its result is needed in two places, which needs a copy}}
  %c = trn_isa.dma_copy copy (%a) [dma] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, hbm>
  %r1 = tile.store %c into %o1[%zero along p, %zero along f] : !tile.tile<["128", "512"], f32, hbm>, tensor<?x?xf32, ["M", "K"]>
  %r2 = tile.store %c into %o2[%zero along p, %zero along f] : !tile.tile<["128", "512"], f32, hbm>, tensor<?x?xf32, ["M", "K"]>
  func.return %r1, %r2 : tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>
}

// -----

// The old accumulator is read after the new one is written over it.
func.func @old(%x: tensor<?x?xf32, ["M", "K"]>) attributes {axon.values = {M = 300 : i64, K = 512 : i64}} {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  %av = tile.load %x[%zero along p, %zero along f] (%c128, %c512) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "512"], f32, hbm>
  %a = trn_isa.dma_copy copy (%av) [dma] : (!tile.tile<["128", "512"], f32, hbm>) -> !tile.tile<["128", "512"], f32, sbuf>
  %z = trn_isa.memset fill () sizes (%c128, %c512) {value = "0"} [] : () -> !tile.tile<["128", "512"], f32, sbuf>
  %s = tile.for k.tile (%k, %kh) = %zero to %M step "128" (sum %b = %z : !tile.tile<["128", "512"], f32, sbuf>) {
    %n = trn_isa.tensor_tensor binary<fn = add> (%b, %a) [vector] : (!tile.tile<["128", "512"], f32, sbuf>, !tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
    // expected-error@+1 {{reads %b after its storage was overwritten, which needs a copy}}
    %d = trn_isa.tensor_tensor binary<fn = add> (%b, %a) [vector] : (!tile.tile<["128", "512"], f32, sbuf>, !tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
    tile.yield %n : !tile.tile<["128", "512"], f32, sbuf>
  }
  func.return
}

// -----

// A loop that updates a value of outside without carrying it.
func.func @outside(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> attributes {axon.values = {M = 300 : i64, K = 512 : i64}} {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %big = tile.empty (%c128, %c512) : !tile.tile<["128", "512"], f32, sbuf>
  // expected-error@+1 {{its body overwrites %big of outside without carrying it}}
  %r = tile.for m.tile (%m, %mh) = %zero to %M step "128" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {
  %av = tile.load %x[%m along p, %zero along f] (%c128, %c512) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "512"], f32, hbm>
  %a = trn_isa.dma_copy copy (%av) [dma] : (!tile.tile<["128", "512"], f32, hbm>) -> !tile.tile<["128", "512"], f32, sbuf>
    %big1 = tile.insert %a into %big[%zero, %zero] : !tile.tile<["128", "512"], f32, sbuf>, !tile.tile<["128", "512"], f32, sbuf> -> !tile.tile<["128", "512"], f32, sbuf>
    tile.yield %o : tensor<?x?xf32, ["M", "K"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}

// -----

// A reduction cannot be written over what it reads.
func.func @over(%x: tensor<?x?xf32, ["M", "K"]>) attributes {axon.values = {M = 300 : i64, K = 512 : i64}} {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  %z = trn_isa.memset fill () sizes (%c128, %c128) {value = "0"} [] : () -> !tile.tile<["32", "32"], f32, sbuf>
  %s = tile.for k.tile (%k, %kh) = %zero to %M step "128" (carry %b = %z : !tile.tile<["32", "32"], f32, sbuf>) {
    // expected-error@+1 {{would overwrite its operand data while it reads it, which needs a copy}}
    %n = trn_isa.nc_transpose vector (%b) [vector] : (!tile.tile<["32", "32"], f32, sbuf>) -> !tile.tile<["32", "32"], f32, sbuf>
    tile.yield %n : !tile.tile<["32", "32"], f32, sbuf>
  }
  func.return
}
