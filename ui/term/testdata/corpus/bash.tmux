== 20
user@box:~#























cursor 12,0
== 148
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~#





















cursor 12,2
== 190
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src#




















cursor 16,3
== 602
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src# ls -l --color ..
total 20
-rw-r--r-- 1 root root   222 Jan  2  2024 cjk.txt
drwxr-xr-x 2 root root    60 Nov 29 16:20 {0;1;34}docs
-rw-r--r-- 1 root root   240 Jan  2  2024 emoji.txt
lrwxrwxrwx 1 root root     8 Nov 29 16:20 {0;1;36}link{0} -> long.txt
-rw-r--r-- 1 root root 12192 Jan  2  2024 long.txt
drwxr-xr-x 3 root root   140 Nov 29 16:20 {0;1;34}src
user@box:~/src#












cursor 16,11
== 620
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src# ls -l --color ..
total 20
-rw-r--r-- 1 root root   222 Jan  2  2024 cjk.txt
drwxr-xr-x 2 root root    60 Nov 29 16:20 {0;1;34}docs
-rw-r--r-- 1 root root   240 Jan  2  2024 emoji.txt
lrwxrwxrwx 1 root root     8 Nov 29 16:20 {0;1;36}link{0} -> long.txt
-rw-r--r-- 1 root root 12192 Jan  2  2024 long.txt
drwxr-xr-x 3 root root   140 Nov 29 16:20 {0;1;34}src
user@box:~/src# echo one two three












cursor 34,11
== 757
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src# ls -l --color ..
total 20
-rw-r--r-- 1 root root   222 Jan  2  2024 cjk.txt
drwxr-xr-x 2 root root    60 Nov 29 16:20 {0;1;34}docs
-rw-r--r-- 1 root root   240 Jan  2  2024 emoji.txt
lrwxrwxrwx 1 root root     8 Nov 29 16:20 {0;1;36}link{0} -> long.txt
-rw-r--r-- 1 root root 12192 Jan  2  2024 long.txt
drwxr-xr-x 3 root root   140 Nov 29 16:20 {0;1;34}src
user@box:~/src# # echo one two XYthree end
user@box:~/src#











cursor 16,12
== 868
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src# ls -l --color ..
total 20
-rw-r--r-- 1 root root   222 Jan  2  2024 cjk.txt
drwxr-xr-x 2 root root    60 Nov 29 16:20 {0;1;34}docs
-rw-r--r-- 1 root root   240 Jan  2  2024 emoji.txt
lrwxrwxrwx 1 root root     8 Nov 29 16:20 {0;1;36}link{0} -> long.txt
-rw-r--r-- 1 root root 12192 Jan  2  2024 long.txt
drwxr-xr-x 3 root root   140 Nov 29 16:20 {0;1;34}src
user@box:~/src# # echo one two XYthree end
user@box:~/src# echo a line that is longer than the terminal is wide, so that re
adline has to wrap it and to redraw it properly










cursor 47,13
== 1284
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src# ls -l --color ..
total 20
-rw-r--r-- 1 root root   222 Jan  2  2024 cjk.txt
drwxr-xr-x 2 root root    60 Nov 29 16:20 {0;1;34}docs
-rw-r--r-- 1 root root   240 Jan  2  2024 emoji.txt
lrwxrwxrwx 1 root root     8 Nov 29 16:20 {0;1;36}link{0} -> long.txt
-rw-r--r-- 1 root root 12192 Jan  2  2024 long.txt
drwxr-xr-x 3 root root   140 Nov 29 16:20 {0;1;34}src
user@box:~/src# # echo one two XYthree end
user@box:~/src# echZo a line that is longer than the terminal is wide, so that r
eadline has to wrap it and to redraw
bash: echZo: command not found
user@box:~/src#








cursor 16,15
== 1892
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src# ls -l --color ..
total 20
-rw-r--r-- 1 root root   222 Jan  2  2024 cjk.txt
drwxr-xr-x 2 root root    60 Nov 29 16:20 {0;1;34}docs
-rw-r--r-- 1 root root   240 Jan  2  2024 emoji.txt
lrwxrwxrwx 1 root root     8 Nov 29 16:20 {0;1;36}link{0} -> long.txt
-rw-r--r-- 1 root root 12192 Jan  2  2024 long.txt
drwxr-xr-x 3 root root   140 Nov 29 16:20 {0;1;34}src
user@box:~/src# # echo one two XYthree end
user@box:~/src# echZo a line that is longer than the terminal is wide, so that r
eadline has to wrap it and to redraw
bash: echZo: command not found
user@box:~/src#








cursor 16,15
== 1955
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src# ls -l --color ..
total 20
-rw-r--r-- 1 root root   222 Jan  2  2024 cjk.txt
drwxr-xr-x 2 root root    60 Nov 29 16:20 {0;1;34}docs
-rw-r--r-- 1 root root   240 Jan  2  2024 emoji.txt
lrwxrwxrwx 1 root root     8 Nov 29 16:20 {0;1;36}link{0} -> long.txt
-rw-r--r-- 1 root root 12192 Jan  2  2024 long.txt
drwxr-xr-x 3 root root   140 Nov 29 16:20 {0;1;34}src
user@box:~/src# # echo one two XYthree end
user@box:~/src# echZo a line that is longer than the terminal is wide, so that r
eadline has to wrap it and to redraw
bash: echZo: command not found
user@box:~/src# cat run
run1.sh  run2.sh  run3.sh
user@box:~/src# cat run






cursor 23,17
== 2013
user@box:~# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
user@box:~# cd src/
user@box:~/src# ls -l --color ..
total 20
-rw-r--r-- 1 root root   222 Jan  2  2024 cjk.txt
drwxr-xr-x 2 root root    60 Nov 29 16:20 {0;1;34}docs
-rw-r--r-- 1 root root   240 Jan  2  2024 emoji.txt
lrwxrwxrwx 1 root root     8 Nov 29 16:20 {0;1;36}link{0} -> long.txt
-rw-r--r-- 1 root root 12192 Jan  2  2024 long.txt
drwxr-xr-x 3 root root   140 Nov 29 16:20 {0;1;34}src
user@box:~/src# # echo one two XYthree end
user@box:~/src# echZo a line that is longer than the terminal is wide, so that r
eadline has to wrap it and to redraw
bash: echZo: command not found
user@box:~/src# cat run
run1.sh  run2.sh  run3.sh
user@box:~/src# cat run1.sh
#!/bin/sh
echo 1
user@box:~/src#



cursor 16,20
== 2197
8
9
10
11
12
13
14
15
16
17
18
19
20
21
22
23
24
25
26
27
28
29
30
user@box:~/src#
cursor 16,23
== 2322
10
11
12
13
14
15
16
17
18
19
20
21
22
23
24
25
26
27
28
29
30
user@box:~/src# printf '\e[1;31mred\e[m \e[48;5;22mgreen\e[0K\e[m\n'
{0;1;31}red{0} {0;48:5:22}green
user@box:~/src#
cursor 16,23
