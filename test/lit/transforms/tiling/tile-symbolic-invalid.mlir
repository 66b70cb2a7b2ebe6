// RUN: axon-opt %s -p tile-symbolic --split-input-file --verify-diagnostics

func.func @composite(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  // expected-error@+1 {{'tensor_hl.softmax' folds inside an expression, which cannot be tiled yet}}
  %0 = tensor_hl.softmax %x axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return %0 : tensor<?x?xf32, ["M", "K"]>
}

// -----

func.func @running(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  // expected-error@+1 {{'tensor_hl.scan' folds over a range that depends on the index, which cannot be tiled yet}}
  %0 = tensor_hl.scan sum %x axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return %0 : tensor<?x?xf32, ["M", "K"]>
}

// -----

func.func @position(%x: tensor<?xf32, ["K"]>) -> tensor<?xf32, ["K"]> {
  %0 = tensor_hl.iota axis 0 : tensor<?xf32, ["K"]>
  // expected-error@+1 {{'tensor_hl.mul' computes with an index, which cannot be tiled yet}}
  %1 = tensor_hl.mul %0, %x : tensor<?xf32, ["K"]>
  func.return %1 : tensor<?xf32, ["K"]>
}

// -----

func.func @twice(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  // expected-error@+1 {{'tile.index' cannot be tiled}}
  %M = tile.index "M"
  func.return %x : tensor<?x?xf32, ["M", "K"]>
}

// -----

// expected-error@+1 {{tile.structure: 'colour' is not a choice}}
func.func @choice(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> attributes {tile.structure = {colour = "red"}} {
  func.return %x : tensor<?x?xf32, ["M", "K"]>
}
