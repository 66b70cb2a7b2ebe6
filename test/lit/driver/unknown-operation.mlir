// RUN: axon-opt %s --verify-diagnostics
// RUN: axon-opt %s --allow-unregistered-dialect --print-op-generic | filecheck %s

// CHECK: "nowhere.op"() : () -> ()
"nowhere.op"() : () -> () // expected-error {{Operation nowhere.op is not registered}}
