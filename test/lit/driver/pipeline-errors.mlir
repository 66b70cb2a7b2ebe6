// RUN: not axon-opt %s -p 'cse,no-such-pass' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not axon-opt %s -p 'cse{limit=3}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not axon-opt %s -p 'cse,' 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not axon-opt %s --pass-pipeline='builtin.module(cse,func.func(dce)' 2>&1 | filecheck %s --check-prefix=NEST
// RUN: not axon-opt %s --pass-pipeline='cse(dce)' 2>&1 | filecheck %s --check-prefix=ANCHOR

// UNKNOWN: pass-pipeline:1:5: error: unknown pass 'no-such-pass'
// UNKNOWN-NEXT: cse,no-such-pass
// UNKNOWN-NEXT: {{^      \^$}}
// UNKNOWN-NEXT: accepted: tensor-hl-decompose, {{.*}}cse, dce
// UNKNOWN-NOT: Traceback

// OPTION: pass-pipeline:1:5: error: pass 'cse' has no option 'limit'
// OPTION: accepted: no options
// OPTION-NOT: Traceback

// EMPTY: pass-pipeline:1:5: error: expected a pass name
// EMPTY-NOT: Traceback

// NEST: pass-pipeline:1:34: error: expected ',' or ')'
// NEST-NOT: Traceback

// ANCHOR: pass-pipeline:1:1: error: 'cse' cannot hold a nested pipeline
// ANCHOR: accepted: builtin.module, func.func, any
// ANCHOR-NOT: Traceback
func.func @f() {
  func.return
}
