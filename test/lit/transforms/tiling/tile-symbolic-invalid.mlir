// RUN: axon-opt %s -p tile-symbolic --split-input-file --verify-diagnostics

func.func @composite(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  // expected-error@+1 {{'tensor_hl.softmax' folds inside an expression, which cannot be tiled yet}}
  %0 = tensor_hl.softmax %x axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return %0 : tensor<?x?xf32, ["M", "K"]>
}

// -----

func.func @step(%x: tensor<?xf32, ["2 * K"]>) -> tensor<?xf32, ["K"]> {
  %0 = tensor_hl.slice %x offsets ["0"] sizes ["K"] steps [2] : tensor<?xf32, ["2 * K"]> -> tensor<?xf32, ["K"]>
  // expected-error@+1 {{'tensor_hl.exp' reads at the index 2 * s0}}
  %1 = tensor_hl.exp %0 : tensor<?xf32, ["K"]>
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
