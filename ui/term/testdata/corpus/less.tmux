== 979
line 1 of a file with some words in it
line 2 of a file with some words in it
line 3 of a file with some words in it
line 4 of a file with some words in it
line 5 of a file with some words in it
line 6 of a file with some words in it
line 7 of a file with some words in it
line 8 of a file with some words in it
line 9 of a file with some words in it
line 10 of a file with some words in it
line 11 of a file with some words in it
line 12 of a file with some words in it
line 13 of a file with some words in it
line 14 of a file with some words in it
line 15 of a file with some words in it
line 16 of a file with some words in it
line 17 of a file with some words in it
line 18 of a file with some words in it
line 19 of a file with some words in it
line 20 of a file with some words in it
line 21 of a file with some words in it
line 22 of a file with some words in it
line 23 of a file with some words in it
{0;7}long.txt
cursor 8,23
== 1930
line 24 of a file with some words in it
line 25 of a file with some words in it
line 26 of a file with some words in it
line 27 of a file with some words in it
line 28 of a file with some words in it
line 29 of a file with some words in it
line 30 of a file with some words in it
line 31 of a file with some words in it
line 32 of a file with some words in it
line 33 of a file with some words in it
line 34 of a file with some words in it
line 35 of a file with some words in it
line 36 of a file with some words in it
line 37 of a file with some words in it
line 38 of a file with some words in it
line 39 of a file with some words in it
line 40 of a file with some words in it
line 41 of a file with some words in it
line 42 of a file with some words in it
line 43 of a file with some words in it
line 44 of a file with some words in it
line 45 of a file with some words in it
line 46 of a file with some words in it
:
cursor 1,23
== 2881
line 47 of a file with some words in it
line 48 of a file with some words in it
line 49 of a file with some words in it
line 50 of a file with some words in it
line 51 of a file with some words in it
line 52 of a file with some words in it
line 53 of a file with some words in it
line 54 of a file with some words in it
line 55 of a file with some words in it
line 56 of a file with some words in it
line 57 of a file with some words in it
line 58 of a file with some words in it
line 59 of a file with some words in it
line 60 of a file with some words in it
line 61 of a file with some words in it
line 62 of a file with some words in it
line 63 of a file with some words in it
line 64 of a file with some words in it
line 65 of a file with some words in it
line 66 of a file with some words in it
line 67 of a file with some words in it
line 68 of a file with some words in it
line 69 of a file with some words in it
:
cursor 1,23
== 3958
line 24 of a file with some words in it
line 25 of a file with some words in it
line 26 of a file with some words in it
line 27 of a file with some words in it
line 28 of a file with some words in it
line 29 of a file with some words in it
line 30 of a file with some words in it
line 31 of a file with some words in it
line 32 of a file with some words in it
line 33 of a file with some words in it
line 34 of a file with some words in it
line 35 of a file with some words in it
line 36 of a file with some words in it
line 37 of a file with some words in it
line 38 of a file with some words in it
line 39 of a file with some words in it
line 40 of a file with some words in it
line 41 of a file with some words in it
line 42 of a file with some words in it
line 43 of a file with some words in it
line 44 of a file with some words in it
line 45 of a file with some words in it
line 46 of a file with some words in it
:
cursor 1,23
== 4105
line 27 of a file with some words in it
line 28 of a file with some words in it
line 29 of a file with some words in it
line 30 of a file with some words in it
line 31 of a file with some words in it
line 32 of a file with some words in it
line 33 of a file with some words in it
line 34 of a file with some words in it
line 35 of a file with some words in it
line 36 of a file with some words in it
line 37 of a file with some words in it
line 38 of a file with some words in it
line 39 of a file with some words in it
line 40 of a file with some words in it
line 41 of a file with some words in it
line 42 of a file with some words in it
line 43 of a file with some words in it
line 44 of a file with some words in it
line 45 of a file with some words in it
line 46 of a file with some words in it
line 47 of a file with some words in it
line 48 of a file with some words in it
line 49 of a file with some words in it
:
cursor 1,23
== 4170
line 26 of a file with some words in it
line 27 of a file with some words in it
line 28 of a file with some words in it
line 29 of a file with some words in it
line 30 of a file with some words in it
line 31 of a file with some words in it
line 32 of a file with some words in it
line 33 of a file with some words in it
line 34 of a file with some words in it
line 35 of a file with some words in it
line 36 of a file with some words in it
line 37 of a file with some words in it
line 38 of a file with some words in it
line 39 of a file with some words in it
line 40 of a file with some words in it
line 41 of a file with some words in it
line 42 of a file with some words in it
line 43 of a file with some words in it
line 44 of a file with some words in it
line 45 of a file with some words in it
line 46 of a file with some words in it
line 47 of a file with some words in it
line 48 of a file with some words in it
:
cursor 1,23
== 7389
line {0;7}99{0} of a file with some words in it
line 100 of a file with some words in it
line 101 of a file with some words in it
line 102 of a file with some words in it
line 103 of a file with some words in it
line 104 of a file with some words in it
line 105 of a file with some words in it
line 106 of a file with some words in it
line 107 of a file with some words in it
line 108 of a file with some words in it
line 109 of a file with some words in it
line 110 of a file with some words in it
line 111 of a file with some words in it
line 112 of a file with some words in it
line 113 of a file with some words in it
line 114 of a file with some words in it
line 115 of a file with some words in it
line 116 of a file with some words in it
line 117 of a file with some words in it
line 118 of a file with some words in it
line 119 of a file with some words in it
line 120 of a file with some words in it
line 121 of a file with some words in it
:
cursor 1,23
== 8393
line 1{0;7}99{0} of a file with some words in it
line 200 of a file with some words in it
line 201 of a file with some words in it
line 202 of a file with some words in it
line 203 of a file with some words in it
line 204 of a file with some words in it
line 205 of a file with some words in it
line 206 of a file with some words in it
line 207 of a file with some words in it
line 208 of a file with some words in it
line 209 of a file with some words in it
line 210 of a file with some words in it
line 211 of a file with some words in it
line 212 of a file with some words in it
line 213 of a file with some words in it
line 214 of a file with some words in it
line 215 of a file with some words in it
line 216 of a file with some words in it
line 217 of a file with some words in it
line 218 of a file with some words in it
line 219 of a file with some words in it
line 220 of a file with some words in it
line 221 of a file with some words in it
:
cursor 1,23
== 9405
line 278 of a file with some words in it
line 279 of a file with some words in it
line 280 of a file with some words in it
line 281 of a file with some words in it
line 282 of a file with some words in it
line 283 of a file with some words in it
line 284 of a file with some words in it
line 285 of a file with some words in it
line 286 of a file with some words in it
line 287 of a file with some words in it
line 288 of a file with some words in it
line 289 of a file with some words in it
line 290 of a file with some words in it
line 291 of a file with some words in it
line 292 of a file with some words in it
line 293 of a file with some words in it
line 294 of a file with some words in it
line 295 of a file with some words in it
line 296 of a file with some words in it
line 297 of a file with some words in it
line 298 of a file with some words in it
line 2{0;7}99{0} of a file with some words in it
line 300 of a file with some words in it
{0;7}(END)
cursor 5,23
== 10480
line 1 of a file with some words in it
line 2 of a file with some words in it
line 3 of a file with some words in it
line 4 of a file with some words in it
line 5 of a file with some words in it
line 6 of a file with some words in it
line 7 of a file with some words in it
line 8 of a file with some words in it
line 9 of a file with some words in it
line 10 of a file with some words in it
line 11 of a file with some words in it
line 12 of a file with some words in it
line 13 of a file with some words in it
line 14 of a file with some words in it
line 15 of a file with some words in it
line 16 of a file with some words in it
line 17 of a file with some words in it
line 18 of a file with some words in it
line 19 of a file with some words in it
line 20 of a file with some words in it
line 21 of a file with some words in it
line 22 of a file with some words in it
line 23 of a file with some words in it
:
cursor 1,23
== 10529
line 1 of a file with some words in it
line 2 of a file with some words in it
line 3 of a file with some words in it
line 4 of a file with some words in it
line 5 of a file with some words in it
line 6 of a file with some words in it
line 7 of a file with some words in it
line 8 of a file with some words in it
line 9 of a file with some words in it
line 10 of a file with some words in it
line 11 of a file with some words in it
line 12 of a file with some words in it
line 13 of a file with some words in it
line 14 of a file with some words in it
line 15 of a file with some words in it
line 16 of a file with some words in it
line 17 of a file with some words in it
line 18 of a file with some words in it
line 19 of a file with some words in it
line 20 of a file with some words in it
line 21 of a file with some words in it
line 22 of a file with some words in it
line 23 of a file with some words in it
{0;7}Chop long lines  (press RETURN)
cursor 31,23
== 11497
line 1 of a file with some words in it
line 2 of a file with some words in it
line 3 of a file with some words in it
line 4 of a file with some words in it
line 5 of a file with some words in it
line 6 of a file with some words in it
line 7 of a file with some words in it
line 8 of a file with some words in it
line 9 of a file with some words in it
line 10 of a file with some words in it
line 11 of a file with some words in it
line 12 of a file with some words in it
line 13 of a file with some words in it
line 14 of a file with some words in it
line 15 of a file with some words in it
line 16 of a file with some words in it
line 17 of a file with some words in it
line 18 of a file with some words in it
line 19 of a file with some words in it
line 20 of a file with some words in it
line 21 of a file with some words in it
line 22 of a file with some words in it
line 23 of a file with some words in it
:
cursor 1,23
== 12884

                   {0;1}SUMMARY{0} {0;1}OF{0} {0;1}LESS{0} {0;1}COMMANDS

      Commands marked with * may be preceded by a number, {0;4}N{0}.
      Notes in parentheses indicate the behavior if {0;4}N{0} is given.
      A key preceded by a caret indicates the Ctrl key; thus ^K is ctrl-K.

  h  H                 Display this help.
  q  :q  Q  :Q  ZZ     Exit.
 ---------------------------------------------------------------------------

                           {0;1}MOVING

  e  ^E  j  ^N  CR  *  Forward  one line   (or {0;4}N{0} lines).
  y  ^Y  k  ^K  ^P  *  Backward one line   (or {0;4}N{0} lines).
  f  ^F  ^V  SPACE  *  Forward  one window (or {0;4}N{0} lines).
  b  ^B  ESC-v      *  Backward one window (or {0;4}N{0} lines).
  z                 *  Forward  one window (and set window to {0;4}N{0}).
  w                 *  Backward one window (and set window to {0;4}N{0}).
  ESC-SPACE         *  Forward  one window, but don't stop at end-of-file.
  d  ^D             *  Forward  one half-window (and set half-window to {0;4}N{0}).
  u  ^U             *  Backward one half-window (and set half-window to {0;4}N{0}).
  ESC-)  RightArrow *  Right one half screen width (or {0;4}N{0} positions).
{0;7}HELP -- Press RETURN for more, or q when done
cursor 45,23
== 14005
                  Display help (from command line).
  -a  ........  --search-skip-screen
                  Search skips current screen.
  -A  ........  --SEARCH-SKIP-SCREEN
                  Search starts just after target line.
  -b [{0;4}N{0}]  ....  --buffers=[{0;4}N{0}]
                  Number of buffers.
  -B  ........  --auto-buffers
                  Don't automatically allocate buffers for pipes.
  -c  ........  --clear-screen
                  Repaint by clearing rather than scrolling.
  -d  ........  --dumb
                  Dumb terminal.
  -D {0;1}x{0;4}color{0}  .  --color={0;1}x{0;4}color
                  Set screen colors.
  -e  -E  ....  --quit-at-eof  --QUIT-AT-EOF
                  Quit at end of file.
  -f  ........  --force
                  Force open non-regular files.
  -F  ........  --quit-if-one-screen
                  Quit if entire file fits on first screen.
  -g  ........  --hilite-search
                  Highlight only last match for searches.
{0;7}HELP -- Press RETURN for more, or q when done
cursor 45,23
