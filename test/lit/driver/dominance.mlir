// RUN: axon-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

// expected-error@+1 {{'test.use' op operand #0 (%later) does not dominate this use}}
"test.use"(%later) : (i32) -> ()
%later = "test.def"() : () -> i32

// -----

// Both errors of one module are reported.
func.func @f() {
  // expected-error@+1 {{operand #0 (%v) does not dominate this use}}
  %w = "test.op"(%v) : (i32) -> i32
  // expected-error@+1 {{operand #0 (%x) does not dominate this use}}
  %v = "test.op"(%x) : (i32) -> i32
  %x = "test.op"(%w) : (i32) -> i32
  func.return
}

// -----

// A region sees what surrounds it, but not the results of its own operation.
func.func @g(%a: i32) {
  // expected-error@+2 {{operand #0 (%r) does not dominate this use}}
  %r = "test.region"() ({
    "test.use"(%r) : (i32) -> ()
    "test.use"(%a) : (i32) -> ()
    "test.end"() : () -> ()
  }) : () -> i32
  func.return
}

// -----

// A name leaves its region no more than its value does.
func.func @h() {
  "test.region"() ({
    %inner = "test.def"() : () -> i32
    "test.end"() : () -> ()
  }) : () -> ()
  // expected-error@+1 {{value %inner is used but not defined}}
  "test.use"(%inner) : (i32) -> ()
  func.return
}

// -----

%outer = "test.def"() : () -> i32
func.func @i() {
  // expected-error@+1 {{operand #0 (%outer) uses a value from outside an isolated operation}}
  "test.use"(%outer) : (i32) -> ()
  func.return
}

// -----

// Of several blocks: the entry dominates all, one side of a branch does not dominate the join.
func.func @j() {
  %entry = "test.def"() : () -> i32
  "test.branch"() [^bb1, ^bb2] : () -> ()
^bb1:
  %side = "test.def"() : () -> i32
  "test.branch"() [^bb3] : () -> ()
^bb2:
  "test.branch"() [^bb3] : () -> ()
^bb3:
  "test.use"(%entry) : (i32) -> ()
  // expected-error@+1 {{operand #0 (%side) does not dominate this use}}
  "test.use"(%side) : (i32) -> ()
  func.return
}
