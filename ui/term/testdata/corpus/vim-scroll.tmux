== 3325
{0;93}  1 {0}line 1 of a file with some words in it
{0;93}  2 {0}line 2 of a file with some words in it
{0;93}  3 {0}line 3 of a file with some words in it
{0;93}  4 {0}line 4 of a file with some words in it
{0;93}  5 {0}line 5 of a file with some words in it
{0;93}  6 {0}line 6 of a file with some words in it
{0;93}  7 {0}line 7 of a file with some words in it
{0;93}  8 {0}line 8 of a file with some words in it
{0;93}  9 {0}line 9 of a file with some words in it
{0;93} 10 {0}line 10 of a file with some words in it
{0;93} 11 {0}line 11 of a file with some words in it
{0;93} 12 {0}line 12 of a file with some words in it
{0;93} 13 {0}line 13 of a file with some words in it
{0;93} 14 {0}line 14 of a file with some words in it
{0;93} 15 {0}line 15 of a file with some words in it
{0;93} 16 {0}line 16 of a file with some words in it
{0;93} 17 {0}line 17 of a file with some words in it
{0;93} 18 {0}line 18 of a file with some words in it
{0;93} 19 {0}line 19 of a file with some words in it
{0;93} 20 {0}line 20 of a file with some words in it
{0;93} 21 {0}line 21 of a file with some words in it
{0;93} 22 {0}line 22 of a file with some words in it
{0;93} 23 {0}line 23 of a file with some words in it
"long.txt" 300L, 12192B                                       1,1           Top
cursor 4,0
== 5896
{0;93} 43 {0}line 43 of a file with some words in it
{0;93} 44 {0}line 44 of a file with some words in it
{0;93} 45 {0}line 45 of a file with some words in it
{0;93} 46 {0}line 46 of a file with some words in it
{0;93} 47 {0}line 47 of a file with some words in it
{0;93} 48 {0}line 48 of a file with some words in it
{0;93} 49 {0}line 49 of a file with some words in it
{0;93} 50 {0}line 50 of a file with some words in it
{0;93} 51 {0}line 51 of a file with some words in it
{0;93} 52 {0}line 52 of a file with some words in it
{0;93} 53 {0}line 53 of a file with some words in it
{0;93} 54 {0}line 54 of a file with some words in it
{0;93} 55 {0}line 55 of a file with some words in it
{0;93} 56 {0}line 56 of a file with some words in it
{0;93} 57 {0}line 57 of a file with some words in it
{0;93} 58 {0}line 58 of a file with some words in it
{0;93} 59 {0}line 59 of a file with some words in it
{0;93} 60 {0}line 60 of a file with some words in it
{0;93} 61 {0}line 61 of a file with some words in it
{0;93} 62 {0}line 62 of a file with some words in it
{0;93} 63 {0}line 63 of a file with some words in it
{0;93} 64 {0}line 64 of a file with some words in it
{0;93} 65 {0}line 65 of a file with some words in it
                                                              43,1          15%
cursor 4,0
== 6415
{0;93} 45 {0}line 45 of a file with some words in it
{0;93} 46 {0}line 46 of a file with some words in it
{0;93} 47 {0}line 47 of a file with some words in it
{0;93} 48 {0}line 48 of a file with some words in it
{0;93} 49 {0}line 49 of a file with some words in it
{0;93} 50 {0}line 50 of a file with some words in it
{0;93} 51 {0}line 51 of a file with some words in it
{0;93} 52 {0}line 52 of a file with some words in it
{0;93} 53 {0}line 53 of a file with some words in it
{0;93} 54 {0}line 54 of a file with some words in it
{0;93} 55 {0}line 55 of a file with some words in it
{0;93} 56 {0}line 56 of a file with some words in it
{0;93} 57 {0}line 57 of a file with some words in it
{0;93} 58 {0}line 58 of a file with some words in it
{0;93} 59 {0}line 59 of a file with some words in it
{0;93} 60 {0}line 60 of a file with some words in it
{0;93} 61 {0}line 61 of a file with some words in it
{0;93} 62 {0}line 62 of a file with some words in it
{0;93} 63 {0}line 63 of a file with some words in it
{0;93} 64 {0}line 64 of a file with some words in it
{0;93} 65 {0}line 65 of a file with some words in it
{0;93} 66 {0}line 66 of a file with some words in it
{0;93} 67 {0}line 67 of a file with some words in it
                                                              46,1          15%
cursor 4,1
== 7740
{0;93}278 {0}line 278 of a file with some words in it
{0;93}279 {0}line 279 of a file with some words in it
{0;93}280 {0}line 280 of a file with some words in it
{0;93}281 {0}line 281 of a file with some words in it
{0;93}282 {0}line 282 of a file with some words in it
{0;93}283 {0}line 283 of a file with some words in it
{0;93}284 {0}line 284 of a file with some words in it
{0;93}285 {0}line 285 of a file with some words in it
{0;93}286 {0}line 286 of a file with some words in it
{0;93}287 {0}line 287 of a file with some words in it
{0;93}288 {0}line 288 of a file with some words in it
{0;93}289 {0}line 289 of a file with some words in it
{0;93}290 {0}line 290 of a file with some words in it
{0;93}291 {0}line 291 of a file with some words in it
{0;93}292 {0}line 292 of a file with some words in it
{0;93}293 {0}line 293 of a file with some words in it
{0;93}294 {0}line 294 of a file with some words in it
{0;93}295 {0}line 295 of a file with some words in it
{0;93}296 {0}line 296 of a file with some words in it
{0;93}297 {0}line 297 of a file with some words in it
{0;93}298 {0}line 298 of a file with some words in it
{0;93}299 {0}line 299 of a file with some words in it
{0;93}300 {0}line 300 of a file with some words in it
                                                              297,1         Bot
cursor 4,19
== 9658
{0;93}  1
{0;93}  2 {0}line 1 of a file with some words in it
{0;93}  3 {0}line 2 of a file with some words in it
{0;93}  4 {0}line 3 of a file with some words in it
{0;93}  5 {0}line 4 of a file with some words in it
{0;93}  6 {0}line 5 of a file with some words in it
{0;93}  7 {0}line 6 of a file with some words in it
{0;93}  8 {0}line 7 of a file with some words in it
{0;93}  9 {0}line 8 of a file with some words in it
{0;93} 10 {0}line 9 of a file with some words in it
{0;93} 11 {0}line 10 of a file with some words in it
{0;93} 12 {0}line 11 of a file with some words in it
{0;93} 13 {0}line 12 of a file with some words in it
{0;93} 14 {0}line 13 of a file with some words in it
{0;93} 15 {0}line 14 of a file with some words in it
{0;93} 16 {0}line 15 of a file with some words in it
{0;93} 17 {0}line 16 of a file with some words in it
{0;93} 18 {0}line 17 of a file with some words in it
{0;93} 19 {0}line 18 of a file with some words in it
{0;93} 20 {0}line 19 of a file with some words in it
{0;93} 21 {0}line 20 of a file with some words in it
{0;93} 22 {0}line 21 of a file with some words in it
{0;93} 23 {0}line 22 of a file with some words in it
{0;1}-- INSERT --{0}                                                  1,1           Top
cursor 4,0
== 10336
{0;93}  1 {0}line 10 of a file with some words in it
{0;93}  2 {0}line 11 of a file with some words in it
{0;93}  3 {0}line 12 of a file with some words in it
{0;93}  4 {0}line 13 of a file with some words in it
{0;93}  5 {0}line 14 of a file with some words in it
{0;93}  6 {0}line 15 of a file with some words in it
{0;93}  7 {0}line 16 of a file with some words in it
{0;93}  8 {0}line 17 of a file with some words in it
{0;93}  9 {0}line 18 of a file with some words in it
{0;93} 10 {0}line 19 of a file with some words in it
{0;93} 11 {0}line 20 of a file with some words in it
{0;93} 12 {0}line 21 of a file with some words in it
{0;93} 13 {0}line 22 of a file with some words in it
{0;93} 14 {0}line 23 of a file with some words in it
{0;93} 15 {0}line 24 of a file with some words in it
{0;93} 16 {0}line 25 of a file with some words in it
{0;93} 17 {0}line 26 of a file with some words in it
{0;93} 18 {0}line 27 of a file with some words in it
{0;93} 19 {0}line 28 of a file with some words in it
{0;93} 20 {0}line 29 of a file with some words in it
{0;93} 21 {0}line 30 of a file with some words in it
{0;93} 22 {0}line 31 of a file with some words in it
{0;93} 23 {0}line 32 of a file with some words in it
10 fewer lines                                                1,1           Top
cursor 4,0
== 11035
{0;93}  1
{0;93}  2 {0}line 1 of a file with some words in it
{0;93}  3 {0}line 2 of a file with some words in it
{0;93}  4 {0}line 3 of a file with some words in it
{0;93}  5 {0}line 4 of a file with some words in it
{0;93}  6 {0}line 5 of a file with some words in it
{0;93}  7 {0}line 6 of a file with some words in it
{0;93}  8 {0}line 7 of a file with some words in it
{0;93}  9 {0}line 8 of a file with some words in it
{0;93} 10 {0}line 9 of a file with some words in it
{0;93} 11 {0}line 10 of a file with some words in it
{0;93} 12 {0}line 11 of a file with some words in it
{0;93} 13 {0}line 12 of a file with some words in it
{0;93} 14 {0}line 13 of a file with some words in it
{0;93} 15 {0}line 14 of a file with some words in it
{0;93} 16 {0}line 15 of a file with some words in it
{0;93} 17 {0}line 16 of a file with some words in it
{0;93} 18 {0}line 17 of a file with some words in it
{0;93} 19 {0}line 18 of a file with some words in it
{0;93} 20 {0}line 19 of a file with some words in it
{0;93} 21 {0}line 20 of a file with some words in it
{0;93} 22 {0}line 21 of a file with some words in it
{0;93} 23 {0}line 22 of a file with some words in it
10 more lines; before #2  1 second ago                        1,0-1         Top
cursor 4,0
== 12318
{0;93}279 {0}line 278 of a file with some 漢字 in it
{0;93}280 {0}line 279 of a file with some 漢字 in it
{0;93}281 {0}line 280 of a file with some 漢字 in it
{0;93}282 {0}line 281 of a file with some 漢字 in it
{0;93}283 {0}line 282 of a file with some 漢字 in it
{0;93}284 {0}line 283 of a file with some 漢字 in it
{0;93}285 {0}line 284 of a file with some 漢字 in it
{0;93}286 {0}line 285 of a file with some 漢字 in it
{0;93}287 {0}line 286 of a file with some 漢字 in it
{0;93}288 {0}line 287 of a file with some 漢字 in it
{0;93}289 {0}line 288 of a file with some 漢字 in it
{0;93}290 {0}line 289 of a file with some 漢字 in it
{0;93}291 {0}line 290 of a file with some 漢字 in it
{0;93}292 {0}line 291 of a file with some 漢字 in it
{0;93}293 {0}line 292 of a file with some 漢字 in it
{0;93}294 {0}line 293 of a file with some 漢字 in it
{0;93}295 {0}line 294 of a file with some 漢字 in it
{0;93}296 {0}line 295 of a file with some 漢字 in it
{0;93}297 {0}line 296 of a file with some 漢字 in it
{0;93}298 {0}line 297 of a file with some 漢字 in it
{0;93}299 {0}line 298 of a file with some 漢字 in it
{0;93}300 {0}line 299 of a file with some 漢字 in it
{0;93}301 {0}line 300 of a file with some 漢字 in it
300 substitutions on 300 lines                                301,1         Bot
cursor 4,22
== 14350
{0;93}301 {0}line 300 of a file with some 漢字 in it
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
                                                              301,1         Bot
cursor 4,0
== 14362
{0;93}301 {0}line 300 of a file with some 漢字 in it
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
{0;94}~
                                                              301,1         Bot
cursor 4,0
== 15942
{0;93}279 {0}line 278 of a file with some 漢字 in it
{0;93}280 {0}line 279 of a file with some 漢字 in it
{0;93}281 {0}line 280 of a file with some 漢字 in it
{0;93}282 {0}line 281 of a file with some 漢字 in it
{0;93}283 {0}line 282 of a file with some 漢字 in it
{0;93}284 {0}line 283 of a file with some 漢字 in it
{0;93}285 {0}line 284 of a file with some 漢字 in it
{0;93}286 {0}line 285 of a file with some 漢字 in it
{0;93}287 {0}line 286 of a file with some 漢字 in it
{0;93}288 {0}line 287 of a file with some 漢字 in it
{0;93}289 {0}line 288 of a file with some 漢字 in it
{0;93}290 {0}line 289 of a file with some 漢字 in it
{0;93}291 {0}line 290 of a file with some 漢字 in it
{0;93}292 {0}line 291 of a file with some 漢字 in it
{0;93}293 {0}line 292 of a file with some 漢字 in it
{0;93}294 {0}line 293 of a file with some 漢字 in it
{0;93}295 {0}line 294 of a file with some 漢字 in it
{0;93}296 {0}line 295 of a file with some 漢字 in it
{0;93}297 {0}line 296 of a file with some 漢字 in it
{0;93}298 {0}line 297 of a file with some 漢字 in it
{0;93}299 {0}line 298 of a file with some 漢字 in it
{0;93}300 {0}line 299 of a file with some 漢字 in it
{0;93}301 {0}line 300 of a file with some 漢字 in it
                                                              301,1         Bot
cursor 4,22
