// RUN: axon prove %s:before %s:after | filecheck %s --check-prefix=EQUAL
// RUN: axon prove %s:before %s:after --certificate %t -q
// RUN: axon recheck %t | filecheck %s --check-prefix=HOLDS
// RUN: not axon prove %s:before %s:cut --no-filter | filecheck %s --check-prefix=CUT
// RUN: not axon prove %s:before %s:cut | filecheck %s --check-prefix=REPLAY
// RUN: not axon prove %s %s 2>&1 | filecheck %s --check-prefix=WHICH

// EQUAL: proved
// HOLDS: the certificate holds
// CUT: unknown: unwritten
// REPLAY: refuted: unwritten
// REPLAY: result 0{{.*}} before and nan after
// WHICH: error: which function? (before, after, cut)
// WHICH: accepted: {{.*}}:FUNC

func.func @before(%x: tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xf32, ["M", "N"]> {
  %r = tensor_hl.mul %x, %x : tensor<?x?xf32, ["M", "N"]>
  func.return %r : tensor<?x?xf32, ["M", "N"]>
}

// Rows in tiles of any height.
func.func @after(%x: tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xf32, ["M", "N"]> {
  %zero = tile.index "0"
  %M = tile.index "M"
  %N = tile.index "N"
  %out = tile.empty (%M, %N) : tensor<?x?xf32, ["M", "N"]>
  %r = tile.for m.tile (%m, %mh) = %zero to %M step "rows" (collect %o = %out : tensor<?x?xf32, ["M", "N"]>) {
    %t = tile.load %x[%m along p, %zero along f] (%mh, %N) : tensor<?x?xf32, ["M", "N"]> -> !tile.tile<["rows", "N"], f32, sbuf>
    %s = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] * a[p, f] }" (%t) : (!tile.tile<["rows", "N"], f32, sbuf>) -> !tile.tile<["rows", "N"], f32, sbuf>
    %n = tile.store %s into %o[%m along p, %zero along f] : !tile.tile<["rows", "N"], f32, sbuf>, tensor<?x?xf32, ["M", "N"]>
    tile.yield %n : tensor<?x?xf32, ["M", "N"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "N"]>
}

// The last row is left out.
func.func @cut(%x: tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xf32, ["M", "N"]> {
  %zero = tile.index "0"
  %M = tile.index "M"
  %end = tile.index "M - 1"
  %N = tile.index "N"
  %out = tile.empty (%M, %N) : tensor<?x?xf32, ["M", "N"]>
  %r = tile.for m.tile (%m, %mh) = %zero to %end step "rows" (collect %o = %out : tensor<?x?xf32, ["M", "N"]>) {
    %t = tile.load %x[%m along p, %zero along f] (%mh, %N) : tensor<?x?xf32, ["M", "N"]> -> !tile.tile<["rows", "N"], f32, sbuf>
    %s = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] * a[p, f] }" (%t) : (!tile.tile<["rows", "N"], f32, sbuf>) -> !tile.tile<["rows", "N"], f32, sbuf>
    %n = tile.store %s into %o[%m along p, %zero along f] : !tile.tile<["rows", "N"], f32, sbuf>, tensor<?x?xf32, ["M", "N"]>
    tile.yield %n : tensor<?x?xf32, ["M", "N"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "N"]>
}
