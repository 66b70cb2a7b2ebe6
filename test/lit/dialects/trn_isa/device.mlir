// RUN: axon-opt %s --split-input-file --verify-diagnostics

// The limits are those of the module's device: a wider PSUM tile is legal on trn3 only.
module attributes {axon.device = "trn3"} {
  func.func @wide(%x: tensor<?x?xf32, ["M", "K"]>) {
    %M = tile.index "M"
    %a = tile.empty (%M, %M) : !tile.tile<["128", "128"], f32, sbuf>
    %b = tile.empty (%M, %M) : !tile.tile<["128", "1024"], f32, sbuf>
    %r = trn_isa.nc_matmul overwrite (%a, %b) [tensor] : (!tile.tile<["128", "128"], f32, sbuf>, !tile.tile<["128", "1024"], f32, sbuf>) -> !tile.tile<["128", "1024"], f32, psum>
    func.return
  }
}

// -----

module attributes {axon.device = "trn2"} {
  func.func @wide(%x: tensor<?x?xf32, ["M", "K"]>) {
    %M = tile.index "M"
    %a = tile.empty (%M, %M) : !tile.tile<["128", "128"], f32, sbuf>
    %b = tile.empty (%M, %M) : !tile.tile<["128", "1024"], f32, sbuf>
    // expected-error@+1 {{N = 1024 exceeds moving_free = 512}}
    %r = trn_isa.nc_matmul overwrite (%a, %b) [tensor] : (!tile.tile<["128", "128"], f32, sbuf>, !tile.tile<["128", "1024"], f32, sbuf>) -> !tile.tile<["128", "1024"], f32, psum>
    func.return
  }
}

// -----

// The first generation's scalar engine adds no number.
module attributes {axon.device = "trn1"} {
  func.func @bias(%x: tensor<?x?xf32, ["M", "K"]>) {
    %M = tile.index "M"
    %a = tile.empty (%M, %M) : !tile.tile<["128", "128"], f32, sbuf>
    // expected-error@+1 {{instruction activation has no form bias_value}}
    %r = trn_isa.activation bias_value<fn = exp> (%a) {bias = "1"} [scalar] : (!tile.tile<["128", "128"], f32, sbuf>) -> !tile.tile<["128", "128"], f32, sbuf>
    func.return
  }
}

// -----

// So are the functions: the vector engine squares on trn3 only.
module attributes {axon.device = "trn3"} {
  func.func @square(%x: tensor<?x?xf32, ["M", "K"]>) {
    %M = tile.index "M"
    %a = tile.empty (%M, %M) : !tile.tile<["128", "128"], f32, sbuf>
    %r = trn_isa.tensor_scalar unary<op0 = square> (%a) [vector] : (!tile.tile<["128", "128"], f32, sbuf>) -> !tile.tile<["128", "128"], f32, sbuf>
    func.return
  }
}

// -----

module attributes {axon.device = "trn2"} {
  func.func @square(%x: tensor<?x?xf32, ["M", "K"]>) {
    %M = tile.index "M"
    %a = tile.empty (%M, %M) : !tile.tile<["128", "128"], f32, sbuf>
    // expected-error@+1 {{'op0' cannot be 'square'; accepted: abs}}
    %r = trn_isa.tensor_scalar unary<op0 = square> (%a) [vector] : (!tile.tile<["128", "128"], f32, sbuf>) -> !tile.tile<["128", "128"], f32, sbuf>
    func.return
  }
}
