== 649
{0;93}  1 {0}package main
{0;93}  2
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}// main says hello.
{0;93}  6 {0}func main() {
{0;93}  7 {0}        for i := 0; i < 3; i++ {
{0;93}  8 {0}                fmt.Println("hello", i)
{0;93}  9 {0}        }
{0;93} 10 {0}}
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
{0;1;7}src/main.go                                                   1,1            All

cursor 4,0
== 782
{0;93}  1 {0}package main
{0;93}  2
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}// main says hello.
{0;93}  6 {0}func main() {
{0;93}  7 {0}        for i := 0; i < 3; i++ {
{0;93}  8 {0}                fmt.Println("hello", i)
{0;93}  9 {0}        }
{0;93} 10 {0}}
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
{0;1;7}src/main.go                                                   4,0-1          All

cursor 4,3
== 1150
{0;93}  1 {0}package main
{0;93}  2
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello", i)
{0;93} 10 {0}        }
{0;93} 11 {0}}
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
{0;1;7}src/main.go [+]                                               5,21-19        All

cursor 22,4
== 1749
{0;93}  1 {0}package main
{0;93}  2
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello", i)
{0;93} 10 {0}        }
{0;93} 11 {0}}
{0;1;7}src/main.go [+]                                               5,21-19        All
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello", i)
{0;93} 10 {0}        }
{0;93} 11 {0}}
{0;94}~
{0;7}src/main.go [+]                                               5,21-19        Bot
:split
cursor 22,4
== 2489
{0;93}  1 {0}package main                        {0;7}│{0;93}  1 {0}package main
{0;93}  2 {0}                                    {0;7}│{0;93}  2
{0;93}  3 {0}import "fmt"                        {0;7}│{0;93}  3 {0}import "fmt"
{0;93}  4 {0}                                    {0;7}│{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")                 {0;7}│{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.                 {0;7}│{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {                       {0;7}│{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {    {0;7}│{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello",{0;7}│{0;93}  9 {0}                fmt.Println("hello"
{0;93}    {0} i)                                 {0;7}│{0;93}    {0}, i)
{0;93} 10 {0}        }                           {0;7}│{0;93} 10 {0}        }
{0;1;7}src/main.go [+]       5,21-19        Top {0;7}src/main.go [+]      5,21-19        Top
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello", i)
{0;93} 10 {0}        }
{0;93} 11 {0}}
{0;94}~
{0;7}src/main.go [+]                                               5,21-19        Bot
:vsplit
cursor 22,4
== 3272
{0;93}  1 {0}package main                        {0;7}│{0;93}  1 {0}package main
{0;93}  2 {0}                                    {0;7}│{0;93}  2
{0;93}  3 {0}import "fmt"                        {0;7}│{0;93}  3 {0}import "fmt"
{0;93}  4 {0}                                    {0;7}│{0;93}  4
{0;93}  5 {0}// main says hello.                 {0;7}│{0;93}  5 {0}// main says hello.
{0;93}  6 {0}func main() {                       {0;7}│{0;93}  6 {0}func main() {
{0;93}  7 {0}        for i := 0; i < 3; i++ {    {0;7}│{0;93}  7 {0}        for i := 0; i < 3; i++ {
{0;93}  8 {0}                fmt.Println("hello",{0;7}│{0;93}  8 {0}                fmt.Println("hello"
{0;93}    {0} i)                                 {0;7}│{0;93}    {0}, i)
{0;93}  9 {0}        }                           {0;7}│{0;93}  9 {0}        }
{0;93} 10 {0}}                                   {0;7}│{0;93} 10 {0}}
{0;7}src/main.go [+]       5,21-19        Top {0;1;7}src/main.go [+]      5,19           All
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}// main says hello.
{0;93}  6 {0}func main() {
{0;93}  7 {0}        for i := 0; i < 3; i++ {
{0;93}  8 {0}                fmt.Println("hello", i)
{0;93}  9 {0}        }
{0;93} 10 {0}}
{0;94}~
{0;94}~
{0;7}src/main.go [+]                                               5,21-19        Bot
:vsplit
cursor 63,4
== 4023
{0;93}  1 {0}package main                        {0;7}│{0;93}  1 {0}package main
{0;93}  2 {0}                                    {0;7}│{0;93}  2
{0;93}  3 {0}import "fmt"                        {0;7}│{0;93}  3 {0}import "fmt"
{0;93}  4 {0}                                    {0;7}│{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")                 {0;7}│{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.                 {0;7}│{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {                       {0;7}│{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {    {0;7}│{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello",{0;7}│{0;93}  9 {0}                fmt.Println("hello"
{0;93}    {0} i)                                 {0;7}│{0;93}    {0}, i)
{0;93} 10 {0}        }                           {0;7}│{0;93} 10 {0}        }
{0;7}src/main.go [+]       5,21-19        Top {0;1;7}src/main.go [+]      5,21-19        Top
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello", i)
{0;93} 10 {0}        }
{0;93} 11 {0}}
{0;94}~
{0;7}src/main.go [+]                                               5,21-19        Bot
1 more line; before #2  0 seconds ago
cursor 63,4
== 4549
{0;93}  1 {0}package main                        {0;7}│{0;93}  2
{0;93}  2 {0}                                    {0;7}│{0;93}  3 {0}import "fmt"
{0;93}  3 {0}import "fmt"                        {0;7}│{0;93}  4
{0;93}  4 {0}                                    {0;7}│{0;93}  5 {0}fmt.Println("漢字")
{0;93}  5 {0}fmt.Println("漢字")                 {0;7}│{0;93}  6 {0}// main says hello.
{0;93}  6 {0}// main says hello.                 {0;7}│{0;93}  7 {0}func main() {
{0;93}  7 {0}func main() {                       {0;7}│{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  8 {0}        for i := 0; i < 3; i++ {    {0;7}│{0;93}  9 {0}                fmt.Println("hello"
{0;93}  9 {0}                fmt.Println("hello",{0;7}│{0;93}    {0}, i)
{0;93}    {0} i)                                 {0;7}│{0;93} 10 {0}        }
{0;93} 10 {0}        }                           {0;7}│{0;93} 11 {0}}
{0;7}src/main.go [+]       5,21-19        Top {0;1;7}src/main.go [+]      11,1           Bot
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello", i)
{0;93} 10 {0}        }
{0;93} 11 {0}}
{0;94}~
{0;7}src/main.go [+]                                               5,21-19        Bot
1 more line; before #2  0 seconds ago
cursor 45,10
== 4692
{0;93}  1 {0}package main                        {0;7}│{0;93}  2
{0;93}  2 {0}                                    {0;7}│{0;93}  3 {0}import "fmt"
{0;93}  3 {0}import "fmt"                        {0;7}│{0;93}  4
{0;93}  4 {0}                                    {0;7}│{0;93}  5 {0}fmt.Println("漢字")
{0;93}  5 {0}fmt.Println("漢字")                 {0;7}│{0;93}  6 {0}// main says hello.
{0;93}  6 {0}// main says hello.                 {0;7}│{0;93}  7 {0}func main() {
{0;93}  7 {0}func main() {                       {0;7}│{0;93}  8 {0;94}>       {0}for i := 0; i < 3; i++ {
{0;93}  8 {0}        for i := 0; i < 3; i++ {    {0;7}│{0;93}  9 {0;94}>       >       {0}fmt.Println("hello"
{0;93}  9 {0}                fmt.Println("hello",{0;7}│{0;93}    {0}, i)
{0;93}    {0} i)                                 {0;7}│{0;93} 10 {0;94}>       {0}}
{0;93} 10 {0}        }                           {0;7}│{0;93} 11 {0}}
{0;7}src/main.go [+]       5,21-19        Top {0;1;7}src/main.go [+]      11,1           Bot
{0;93}  3 {0}import "fmt"
{0;93}  4
{0;93}  5 {0}fmt.Println("漢字")
{0;93}  6 {0}// main says hello.
{0;93}  7 {0}func main() {
{0;93}  8 {0}        for i := 0; i < 3; i++ {
{0;93}  9 {0}                fmt.Println("hello", i)
{0;93} 10 {0}        }
{0;93} 11 {0}}
{0;94}~
{0;7}src/main.go [+]                                               5,21-19        Bot
:set list
cursor 45,10
