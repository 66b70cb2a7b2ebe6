// RUN: axon-opt %S/../../../../examples/rms_mm_graph.mlir | axon-opt | filecheck %s
// RUN: axon-opt %S/../../../../examples/rms_mm_graph.mlir --print-op-generic | axon-opt | filecheck %s

// CHECK: nu.choice product(%x, %r, %g, %w)
// CHECK: nu.choice normalised(%x, %r, %g)
