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
