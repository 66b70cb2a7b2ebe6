// A hexadecimal element is the bit pattern of a float (stock xDSL reads the first as 4.28657869e+09).
// RUN: axon-opt %s | filecheck %s
// RUN: axon-opt %s | axon-opt | filecheck %s

// CHECK: arith.constant dense<0xff800000> : tensor<2xf32>
// CHECK: arith.constant dense<[0x7c00, 1.000000e+00]> : tensor<2xf16>
// CHECK: arith.constant dense<1.500000e+00> : tensor<2xbf16>
// CHECK: arith.constant dense<-2.000000e+00> : tensor<f64>
// CHECK: arith.constant dense<16> : tensor<2xi32>
func.func @f() {
  %a = arith.constant dense<0xFF800000> : tensor<2xf32>
  %b = arith.constant dense<[0x7C00, 1.0]> : tensor<2xf16>
  %c = arith.constant dense<0x3FC0> : tensor<2xbf16>
  %d = arith.constant dense<0xC000000000000000> : tensor<f64>
  %e = arith.constant dense<0x10> : tensor<2xi32>
  func.return
}
