func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = nu.choice same(%x) : (tensor<f32>) -> tensor<f32> {
    alternative early proved "E" (%a) {
      nu.yield %a : tensor<f32>
    }
  }
  %z = nu.choice same(%y) : (tensor<f32>) -> tensor<f32> {
    alternative early proved "E" (%b) {
      nu.yield %b : tensor<f32>
    }
  }
  func.return %z : tensor<f32>
}
