== 20
user@box:~#























cursor 12,0
== 292
user@box:~# cat cjk.txt
漢字とかな混じり文。幅は二倍です。
한국어 텍스트
Überraschung: naïve café e\xcc\x81
全角ＡＢＣ and half abc
mixed 漢 a 字 b 表 c
┌──┬──┐
│漢│ab│
└──┴──┘
user@box:~#














cursor 12,9
== 579
user@box:~# cat cjk.txt
漢字とかな混じり文。幅は二倍です。
한국어 텍스트
Überraschung: naïve café e\xcc\x81
全角ＡＢＣ and half abc
mixed 漢 a 字 b 表 c
┌──┬──┐
│漢│ab│
└──┴──┘
user@box:~# cat emoji.txt
smile 😀 heart 💚 rocket 🚀
thumb 👍 wave 👋 end
🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀
🚀🚀🚀🚀🚀
user@box:~#









cursor 12,14
== 799
user@box:~# cat cjk.txt
漢字とかな混じり文。幅は二倍です。
한국어 텍스트
Überraschung: naïve café e\xcc\x81
全角ＡＢＣ and half abc
mixed 漢 a 字 b 表 c
┌──┬──┐
│漢│ab│
└──┴──┘
user@box:~# cat emoji.txt
smile 😀 heart 💚 rocket 🚀
thumb 👍 wave 👋 end
🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀
🚀🚀🚀🚀🚀
user@box:~# cat cjk.txt emoji.txt | head -c 150
漢字とかな混じり文。幅は二倍です。
한국어 텍스트
Überraschung: naïve café e\xcc\x81
全角ＡＢＣ and half abc
mixed 漢 auser@box:~#




cursor 22,19
== 938
user@box:~# cat cjk.txt
漢字とかな混じり文。幅は二倍です。
한국어 텍스트
Überraschung: naïve café e\xcc\x81
全角ＡＢＣ and half abc
mixed 漢 a 字 b 表 c
┌──┬──┐
│漢│ab│
└──┴──┘
user@box:~# cat emoji.txt
smile 😀 heart 💚 rocket 🚀
thumb 👍 wave 👋 end
🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀
🚀🚀🚀🚀🚀
user@box:~# cat cjk.txt emoji.txt | head -c 150
漢字とかな混じり文。幅は二倍です。
한국어 텍스트
Überraschung: naïve café e\xcc\x81
全角ＡＢＣ and half abc
mixed 漢 auser@box:~# echox漢字
bash: echox漢字: command not found
user@box:~#


cursor 12,21
== 1467
└──┴──┘
user@box:~# cat emoji.txt
smile 😀 heart 💚 rocket 🚀
thumb 👍 wave 👋 end
🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀
🚀🚀🚀🚀🚀
user@box:~# cat cjk.txt emoji.txt | head -c 150
漢字とかな混じり文。幅は二倍です。
한국어 텍스트
Überraschung: naïve café e\xcc\x81
全角ＡＢＣ and half abc
mixed 漢 auser@box:~# echox漢字
bash: echox漢字: command not found
user@box:~# paste cjk.txt emoji.txt
漢字とかな混じり文。幅は二倍です。      smile 😀 heart 💚 rocket 🚀
한국어 텍스트   thumb 👍 wave 👋 end
Überraschung: naïve café e\xcc\x81      🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀
🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀
全角ＡＢＣ and half abc
mixed 漢 a 字 b 表 c
┌──┬──┐
│漢│ab│
└──┴──┘
user@box:~#
cursor 12,23
