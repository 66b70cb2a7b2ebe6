// RUN: axon-opt %s --device trn1 | filecheck %s
// RUN: axon-opt %s --device trn1 | axon-opt | filecheck %s
// RUN: axon-opt %s | filecheck %s --check-prefix=OWN

// CHECK: builtin.module attributes {axon.device = "trn1"}
// OWN: builtin.module attributes {axon.device = "trn3"}
builtin.module attributes {axon.device = "trn3"} {
}
