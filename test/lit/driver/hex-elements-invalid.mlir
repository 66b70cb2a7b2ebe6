// RUN: axon-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{hexadecimal float literal does not fit f16}}
%a = arith.constant dense<0x17C00> : tensor<2xf16>

// -----

// expected-error@+1 {{cannot have a minus sign}}
%a = arith.constant dense<-0x7C00> : tensor<2xf16>

// -----

// expected-error@+1 {{hexadecimal elements of complex tensors are not supported}}
%a = arith.constant dense<(0x7F800000, 0x0)> : tensor<2xcomplex<f32>>
