// RUN: axon-opt %s -p tile-symbolic --split-input-file --verify-diagnostics

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
