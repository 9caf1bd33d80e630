== 4
>>>























cursor 4,0
== 56
>>> for i in range(5): print('%d' % i, end='\r\n')
...






















cursor 4,1
== 82
>>> for i in range(5): print('%d' % i, end='\r\n')
...
0
1
2
3
4
>>>
















cursor 4,7
== 285
>>> for i in range(5): print('%d' % i, end='\r\n')
...
0
1
2
3
4
>>> '漢字' * 30
'漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢
字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字'
>>>













cursor 4,10
== 406
>>> for i in range(5): print('%d' % i, end='\r\n')
...
0
1
2
3
4
>>> '漢字' * 30
'漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢
字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字'
>>> 1/0
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
ZeroDivisionError: division by zero
>>>









cursor 4,14
== 493
>>> for i in range(5): print('%d' % i, end='\r\n')
...
0 at18
>>>
2
3
4
>>> '漢字' * 30
'漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢
字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字'
>>> 1/0
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
ZeroDivisionError: division by zero
>>> import sys; sys.stdout.write('\x1b[7mrev\x1b[m\x1b[3;3Hat')
{0;7}rev








cursor 4,3
== 593
>>> for i in range(5): print('%d' % i, end='\r\n')
...
0 t178
>>> import sys; sys.stdout.write('\x1b[7mrev\x1b[m\x1b[3;3Ht')
{0;7}rev
3
4
>>> '漢字' * 30
'漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢
字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字'
>>> 1/0
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
ZeroDivisionError: division by zero
>>> import sys; sys.stdout.write('\x1b[7mrev\x1b[m\x1b[3;3Hat')
{0;7}rev








cursor 4,3
== 1285
>>> for i in range(5): print('%d' % i, end='\r\n')
...
0 t178
>>> help() sys; sys.stdout.write('\x1b[7mrev\x1b[m\x1b[3;3Ht')
{0;7}rev
Welcome to Python 3.11's help utility!
4
If this is your first time using Python, you should definitely check out
the tutorial on the internet at https://docs.python.org/3.11/tutorial/.字漢字漢
字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字'
Enter the name of any module, keyword, or topic to get help on writing
Python programs and using Python modules.  To quit this help utility and
return to the interpreter, just type "quit".
ZeroDivisionError: division by zero
To get a list of available modules, keywords, symbols, or topics, type
"modules", "keywords", "symbols", or "topics".  Each module also comes
with a one-line summary of what it does; to list the modules whose name
or summary contain a given string such as "spam", type "modules spam".

help>




cursor 6,19
== 1577
0 t178
>>> help() sys; sys.stdout.write('\x1b[7mrev\x1b[m\x1b[3;3Ht')
{0;7}rev
Welcome to Python 3.11's help utility!
4
If this is your first time using Python, you should definitely check out
the tutorial on the internet at https://docs.python.org/3.11/tutorial/.字漢字漢
字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字'
Enter the name of any module, keyword, or topic to get help on writing
Python programs and using Python modules.  To quit this help utility and
return to the interpreter, just type "quit".
ZeroDivisionError: division by zero
To get a list of available modules, keywords, symbols, or topics, type
"modules", "keywords", "symbols", or "topics".  Each module also comes
with a one-line summary of what it does; to list the modules whose name
or summary contain a given string such as "spam", type "modules spam".

help> quit

You are now leaving help and returning to the Python interpreter.
If you want to ask for help on a particular object directly from the
interpreter, you can type "help(object)".  Executing "help('string')"
has the same effect as typing a particular string at the help> prompt.
>>>
cursor 4,23
