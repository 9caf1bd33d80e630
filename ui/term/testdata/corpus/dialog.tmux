== 20
user@box:~#























cursor 12,0
== 121
┌───┐
user@box:~#






















cursor 12,1
== 223
user@box:~# printf '\e[?1049h\e[2J\e[H\e(0lqqqk\e(B\n'
user@box:~#






















cursor 12,1
== 321
user@box:~# printf '\e[?1049h\e[2J\e[H\e(0lqqqk\e(B\n'
user@box:~# stty -a | head -1
speed 38400 baud; rows 24; columns 80; line = 0;
user@box:~#




















cursor 12,3
