// axon 0.1.0 failed
// axon prove --help
//
// Traceback (most recent call last):
//   File "/tmp/lp/axon_mlir/cli/process.py", line 53, in run_tool
//     code = tool(arguments)
//            ^^^^^^^^^^^^^^^
//   File "/tmp/lp/axon_mlir/cli/axon.py", line 70, in _dispatch
//     module = cast(SubcommandModule, import_module(subcommand.module))
//                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   File "/root/.pyenv/versions/3.11.7/lib/python3.11/importlib/__init__.py", line 126, in import_module
//     return _bootstrap._gcd_import(name[level:], package, level)
//            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   File "<frozen importlib._bootstrap>", line 1204, in _gcd_import
//   File "<frozen importlib._bootstrap>", line 1176, in _find_and_load
//   File "<frozen importlib._bootstrap>", line 1147, in _find_and_load_unlocked
//   File "<frozen importlib._bootstrap>", line 690, in _load_unlocked
//   File "<frozen importlib._bootstrap_external>", line 940, in exec_module
//   File "<frozen importlib._bootstrap>", line 241, in _call_with_frames_removed
//   File "/tmp/lp/axon_mlir/cli/prove.py", line 14, in <module>
//     from xdsl.dialects.func import FuncOp
// ModuleNotFoundError: No module named 'xdsl'
