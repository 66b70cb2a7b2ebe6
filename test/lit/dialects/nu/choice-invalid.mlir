// RUN: axon-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{'nu.choice' op needs at least one alternative}}
nu.choice() : () -> () {
}

// -----

// expected-error@+1 {{'nu.choice' op describes 1 alternatives in 2 regions}}
"nu.choice"() <{alternatives = [#nu.alternative<a proved "E">]}> ({
  nu.yield
}, {
  nu.yield
}) : () -> ()

// -----

// expected-error@+1 {{'nu.choice' op two alternatives are called 'a'}}
nu.choice() : () -> () {
  alternative a proved "E" {
    nu.yield
  }
  alternative b proved "E" {
    nu.yield
  }
  alternative a proved "E" {
    nu.yield
  }
}

// -----

func.func @arguments(%x: tensor<f32>) {
  // expected-error@+1 {{alternative 'late' takes (tensor<bf16>), but the choice's operands are (tensor<f32>)}}
  "nu.choice"(%x) <{alternatives = [#nu.alternative<early proved "E">, #nu.alternative<late proved "E">]}> ({
  ^bb0(%a: tensor<f32>):
    nu.yield
  }, {
  ^bb0(%a: tensor<bf16>):
    nu.yield
  }) : (tensor<f32>) -> ()
  func.return
}

// -----

func.func @results(%x: tensor<f32>) {
  // expected-error@+1 {{alternative 'late' yields (tensor<f32>, tensor<f32>), but the choice's results are (tensor<f32>)}}
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative early proved "E" (%a) {
      nu.yield %a : tensor<f32>
    }
    alternative late proved "E" (%b) {
      nu.yield %b, %b : tensor<f32>, tensor<f32>
    }
  }
  func.return
}

// -----

func.func @terminator(%x: tensor<f32>) {
  // expected-error@+1 {{alternative 'early' ends with tensor_hl.neg, it must end with nu.yield}}
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative early proved "E" (%a) {
      %0 = tensor_hl.neg %a : tensor<f32> // expected-error {{ends its block but is not a terminator}}
    }
  }
  func.return
}

// -----

func.func @empty(%x: tensor<f32>) {
  // expected-error@+2 {{alternative 'early' is empty, it must end with nu.yield}}
  // expected-error@+1 {{region #0 has an empty block where a terminator is required}}
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative early proved "E" (%a) {
    }
  }
  func.return
}

// -----

func.func @closed(%x: tensor<f32>, %s: tensor<f32>) {
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative early proved "E" (%a) {
      // expected-error@+1 {{operand #1 (%s) uses a value from outside an isolated operation}}
      %0 = tensor_hl.mul %a, %s : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
  }
  func.return
}

// -----

// expected-error@+1 {{'nu.choice' op '' cannot be a name}}
"nu.choice"() <{label = "", alternatives = [#nu.alternative<a proved "E">]}> ({
  nu.yield
}) : () -> ()

// -----

nu.choice() : () -> () {
  alternative a hoped "E" { // expected-error {{unknown verdict 'hoped', not one of proved, refuted, unknown}}
    nu.yield
  }
}

// -----

nu.choice() : () -> () {
  alternative a proved "EX" { // expected-error {{unknown numeric class 'X', not one of E, R, P, C, O}}
    nu.yield
  }
}

// -----

// expected-error@+1 {{numeric class 'R' is given twice}}
"nu.choice"() <{alternatives = [#nu.alternative<a proved "RER">]}> ({
  nu.yield
}) : () -> ()

// -----

nu.choice() : () -> () {
  alternative "a=b" proved "E" { // expected-error {{'a=b' cannot be a name}}
    nu.yield
  }
}

// -----

func.func @arity(%x: tensor<f32>) {
  nu.choice(%x) : (tensor<f32>) -> () {
    alternative a proved "E" (%a, %b) { // expected-error {{alternative 'a' names 2 arguments for 1 operands}}
      nu.yield
    }
  }
  func.return
}

// -----

nu.choice() : () -> () {
  option a proved "E" { // expected-error {{Expected '}' or 'alternative'}}
  }
}

// -----

func.func @stray() {
  nu.yield // expected-error {{'nu.yield' op expects parent op 'nu.choice'}}
}
