# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From tensor programs to loop nests over symbolic tile sizes."""
