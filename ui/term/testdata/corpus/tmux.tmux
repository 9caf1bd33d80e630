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
{0;30;42}[0] 0:bash*                                                "box" 16:17 29-Nov-26
cursor 10,2
