// expected-error {{something else}}
"a.a"() : () -> ()
