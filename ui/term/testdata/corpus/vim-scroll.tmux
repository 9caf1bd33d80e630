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
