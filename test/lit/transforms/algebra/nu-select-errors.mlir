// RUN: not axon-opt %s -p 'nu-select{alternative=wrong}' 2>&1 | filecheck %s --check-prefix=REFUTED
// RUN: not axon-opt %s -p 'nu-select{alternative=wrong allow=unknown}' 2>&1 | filecheck %s --check-prefix=REFUTED
// RUN: not axon-opt %s -p 'nu-select{alternative=hoped}' 2>&1 | filecheck %s --check-prefix=UNPROVED
// RUN: not axon-opt %s -p 'nu-select{alternative=lat}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not axon-opt %s -p 'nu-select{choices="choice0=lat"}' 2>&1 | filecheck %s --check-prefix=ONE
// RUN: not axon-opt %s -p 'nu-select{choices="choice7=late"}' 2>&1 | filecheck %s --check-prefix=CHOICE
// RUN: not axon-opt %s -p 'nu-select{choices="choice0"}' 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not axon-opt %s -p 'nu-select{choices="choice0=late,choice0=early"}' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not axon-opt %s -p 'nu-select{index=7}' 2>&1 | filecheck %s --check-prefix=INDEX
// RUN: not axon-opt %s -p 'nu-select{index=0 alternative=late}' 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not axon-opt %s -p 'nu-select{allow=refuted}' 2>&1 | filecheck %s --check-prefix=ALLOW
// RUN: not axon-opt %S/Inputs/two-choices-of-one-name.mlir -p 'nu-select' 2>&1 | filecheck %s --check-prefix=LABEL

// REFUTED: nu-select-errors.mlir:45:3: error: 'nu.choice' op has alternative 'wrong', but it is refuted
// REFUTED-NEXT: accepted: early, late
// REFUTED-NOT: allow

// UNPROVED: nu-select-errors.mlir:45:3: error: 'nu.choice' op has alternative 'hoped', but it is unknown
// UNPROVED-NEXT: accepted: early, late; or allow=unknown

// NAME: error: no choice has an alternative 'lat'
// NAME-NEXT: accepted: early, late, hoped, wrong

// ONE: nu-select-errors.mlir:45:3: error: 'nu.choice' op has no alternative 'lat'
// ONE-NEXT: accepted: early, late, hoped, wrong

// CHOICE: error: there is no choice 'choice7'
// CHOICE-NEXT: accepted: choice0

// FORM: error: nu-select cannot read 'choice0'
// FORM-NEXT: accepted: choices="choice0=late,choice1=early"

// TWICE: error: nu-select is given 'choice0' twice

// INDEX: nu-select-errors.mlir:45:3: error: 'nu.choice' op has no alternative number 7
// INDEX-NEXT: accepted: 0 to 3

// BOTH: error: nu-select takes an alternative or an index, not both

// ALLOW: error: option 'allow' of pass 'nu-select' has the wrong type
// ALLOW: accepted: {{.*}}unknown

// LABEL: two-choices-of-one-name.mlir:7:3: error: 'nu.choice' op is the second choice called 'same' in @f
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative early proved "E" (%a0) {
      nu.yield %a0 : tensor<f32>
    }
    alternative late proved "R" (%a1) {
      nu.yield %a1 : tensor<f32>
    }
    alternative hoped unknown "R" (%a2) {
      nu.yield %a2 : tensor<f32>
    }
    alternative wrong refuted "R" (%a3) {
      nu.yield %a3 : tensor<f32>
    }
  }
  func.return %y : tensor<f32>
}
