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
