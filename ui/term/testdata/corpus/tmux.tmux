== 818
bash-5.2#






















{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 10,0
== 948
bash-5.2# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#




















{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 10,2
== 1617
bash-5.2# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#








─────────────────────────────────────────{0;32}───────────────────────────────────────
root@box:~#










{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 12,12
== 1765
bash-5.2# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#








─────────────────────────────────────────{0;32}───────────────────────────────────────
31
32
33
34
35
36
37
38
39
40
root@box:~#
{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 12,22
== 2730
bash-5.2# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#








────────────────────────────────────────{0;32}┬───────────────────────────────────────
31                                      {0;32}│{0}root@box:~#
32                                      {0;32}│
33                                      {0;32}│
34                                      {0;32}│
35                                      {0;32}│
36                                      {0;32}│
37                                      {0;32}│
38                                      {0;32}│
39                                      {0;32}│
40                                      {0;32}│
root@box:~#                             {0;32}│
{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 53,12
== 3055
bash-5.2# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#








────────────────────────────────────────{0;32}┬───────────────────────────────────────
31                                      {0;32}│{0}root@box:~# cat cjk.txt
32                                      {0;32}│{0}漢字とかな混じり文。幅は二倍です。
33                                      {0;32}│{0}한국어 텍스트
34                                      {0;32}│{0}Überraschung: naïve café e\xcc\x81
35                                      {0;32}│{0}全角ＡＢＣ and half abc
36                                      {0;32}│{0}mixed 漢 a 字 b 表 c
37                                      {0;32}│{0}┌──┬──┐
38                                      {0;32}│{0}│漢│ab│
39                                      {0;32}│{0}└──┴──┘
40                                      {0;32}│{0}root@box:~#
root@box:~#                             {0;32}│
{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 53,21
== 3464
bash-5.2# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#








{0;32}────────────────────────────────────────┬───────────────────────────────────────
31                                      │root@box:~# cat cjk.txt
32                                      │漢字とかな混じり文。幅は二倍です。
33                                      │한국어 텍스트
34                                      │Überraschung: naïve café e\xcc\x81
35                                      │全角ＡＢＣ and half abc
36                                      │mixed 漢 a 字 b 表 c
37                                      │┌──┬──┐
38                                      ││漢│ab│
39                                      │└──┴──┘
40                                      │root@box:~#
root@box:~#                             │
{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 10,2
== 4142
bash-5.2# ls --color                                                       {0;30;43}[0/0]
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#








{0;33}────────────────────────────────────────┬───────────────────────────────────────
31                                      │root@box:~# cat cjk.txt
32                                      │漢字とかな混じり文。幅は二倍です。
33                                      │한국어 텍스트
34                                      │Überraschung: naïve café e\xcc\x81
35                                      │全角ＡＢＣ and half abc
36                                      │mixed 漢 a 字 b 表 c
37                                      │┌──┬──┐
38                                      ││漢│ab│
39                                      │└──┴──┘
40                                      │root@box:~#
root@box:~#                             │
{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 10,2
== 4665
bash-5.2# ls --color                                                       {0;30;43}[0/0]
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#








{0;33}────────────────────────────────────────┬───────────────────────────────────────
31                                      │root@box:~# cat cjk.txt
32                                      │漢字とかな混じり文。幅は二倍です。
33                                      │한국어 텍스트
34                                      │Überraschung: naïve café e\xcc\x81
35                                      │全角ＡＢＣ and half abc
36                                      │mixed 漢 a 字 b 表 c
37                                      │┌──┬──┐
38                                      ││漢│ab│
39                                      │└──┴──┘
40                                      │root@box:~#
root@box:~#                             │
{0;30;42}[0] 0:[tmux]*                                              "box" 16:22 29-Nov-26
cursor 20,0
== 5760
bash-5.2# ls --color
cjk.txt  {0;1;34}docs{0}  emoji.txt  {0;1;36}link{0}  long.txt  {0;1;34}src
bash-5.2#








{0;32}────────────────────────────────────────┬───────────────────────────────────────
31                                      │root@box:~# cat cjk.txt
32                                      │漢字とかな混じり文。幅は二倍です。
33                                      │한국어 텍스트
34                                      │Überraschung: naïve café e\xcc\x81
35                                      │全角ＡＢＣ and half abc
36                                      │mixed 漢 a 字 b 表 c
37                                      │┌──┬──┐
38                                      ││漢│ab│
39                                      │└──┴──┘
40                                      │root@box:~#
root@box:~#                             │
{0;30;42}[0] 0:bash*                                                "box" 16:22 29-Nov-26
cursor 10,2
