== 742
{0;1}diff --git a/src/main.go b/src/main.go
{0;1}deleted file mode 100644
{0;1}index f54b3da..0000000
{0;1}--- a/src/main.go
{0;1}+++ /dev/null
{0;36}@@ -1,10 +0,0 @@
{0;31}-package main
{0;31}-
{0;31}-import "fmt"
{0;31}-
{0;31}-// main says hello.
{0;31}-func main() {
{0;31}-       for i := 0; i < 3; i++ {
{0;31}-               fmt.Println("hello", i)
{0;31}-       }
{0;31}-}
{0;1}diff --git a/docs/readme.md b/docs/readme.md
{0;1}new file mode 100644
{0;1}index 0000000..c6b841b
{0;1}--- /dev/null
{0;1}+++ b/docs/readme.md
{0;36}@@ -0,0 +1,6 @@
{0;32}+# Title
:
cursor 1,23
== 817
{0;1}index f54b3da..0000000
{0;1}--- a/src/main.go
{0;1}+++ /dev/null
{0;36}@@ -1,10 +0,0 @@
{0;31}-package main
{0;31}-
{0;31}-import "fmt"
{0;31}-
{0;31}-// main says hello.
{0;31}-func main() {
{0;31}-       for i := 0; i < 3; i++ {
{0;31}-               fmt.Println("hello", i)
{0;31}-       }
{0;31}-}
{0;1}diff --git a/docs/readme.md b/docs/readme.md
{0;1}new file mode 100644
{0;1}index 0000000..c6b841b
{0;1}--- /dev/null
{0;1}+++ b/docs/readme.md
{0;36}@@ -0,0 +1,6 @@
{0;32}+# Title
{0;32}+
{0;32}+Some *text* and a list:
:
cursor 1,23
== 1532
{0;32}+
{0;32}+- one
{0;32}+- two
{0;1}diff --git a/src/run1.sh b/src/run1.sh
{0;1}deleted file mode 100755
{0;1}index 58542da..0000000
{0;1}--- a/src/run1.sh
{0;1}+++ /dev/null
{0;36}@@ -1,2 +0,0 @@
{0;31}-#!/bin/sh
{0;31}-echo 1
{0;1}diff --git a/src/run2.sh b/src/run2.sh
{0;1}deleted file mode 100755
{0;1}index 77bfbb0..0000000
{0;1}--- a/src/run2.sh
{0;1}+++ /dev/null
{0;36}@@ -1,2 +0,0 @@
{0;31}-#!/bin/sh
{0;31}-echo 2
{0;1}diff --git a/src/run3.sh b/src/run3.sh
{0;1}deleted file mode 100755
{0;1}index aa846bf..0000000
{0;1}--- a/src/run3.sh
:
cursor 1,23
== 2386
{0;1}diff --git a/src/main.go b/src/main.go
{0;1}deleted file mode 100644
{0;1}index f54b3da..0000000
{0;1}--- a/src/main.go
{0;1}+++ /dev/null
{0;36}@@ -1,10 +0,0 @@
{0;31}-package main
{0;31}-
{0;31}-import "fmt"
{0;31}-
{0;31}-// main says hello.
{0;31}-func main() {
{0;31}-       for i := 0; i < 3; i++ {
{0;31}-               fmt.Println("hello", i)
{0;31}-       }
{0;31}-}
{0;1}diff --git a/docs/readme.md b/docs/readme.md
{0;1}new file mode 100644
{0;1}index 0000000..c6b841b
{0;1}--- /dev/null
{0;1}+++ b/docs/readme.md
{0;36}@@ -0,0 +1,6 @@
{0;32}+# Title
:
cursor 1,23
== 4510
{0;31}-{0;7;31}func{0;31} main() {
{0;31}-       for i := 0; i < 3; i++ {
{0;31}-               fmt.Println("hello", i)
{0;31}-       }
{0;31}-}
{0;1}diff --git a/docs/readme.md b/docs/readme.md
{0;1}new file mode 100644
{0;1}index 0000000..c6b841b
{0;1}--- /dev/null
{0;1}+++ b/docs/readme.md
{0;36}@@ -0,0 +1,6 @@
{0;32}+# Title
{0;32}+
{0;32}+Some *text* and a list:
{0;32}+
{0;32}+- one
{0;32}+- two
{0;1}diff --git a/src/run1.sh b/src/run1.sh
{0;1}deleted file mode 100755
{0;1}index 58542da..0000000
{0;1}--- a/src/run1.sh
{0;1}+++ /dev/null
{0;36}@@ -1,2 +0,0 @@
:
cursor 1,23
