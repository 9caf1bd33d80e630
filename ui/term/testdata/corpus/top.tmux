== 1763
top - 16:22:02 up 54 min,  0 user,  load average: 12.31, 7.89, 4.87
Tasks:{0;1}   2 {0}total,{0;1}   1 {0}running,{0;1}   1 {0}sleeping,{0;1}   0 {0}stopped,{0;1}   0 {0}zombie
%Cpu(s):{0;1}  0.0 {0}us,{0;1}  0.0 {0}sy,{0;1}  0.0 {0}ni,{0;1}100.0 {0}id,{0;1}  0.0 {0}wa,{0;1}  0.0 {0}hi,{0;1}  0.0 {0}si,{0;1}  0.0 {0}st
MiB Mem :{0;1}  24105.1 {0}total,{0;1}  18329.8 {0}free,{0;1}   1050.2 {0}used,{0;1}   5038.8 {0}buff/cache
MiB Swap:{0;1}      0.0 {0}total,{0;1}      0.0 {0}free,{0;1}      0.0 {0}used.{0;1}  23054.9 {0}avail Mem

{0;7}    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND  
{0;1}      1 root      20   0    9060   5348   3236 R   0.0   0.0   0:00.00 top
     13 root      20   0    2920   1804   1700 S   0.0   0.0   0:00.00 sleep















cursor 0,23
== 5573
top - 16:22:03 up 54 min,  0 user,  load average: 12.31, 7.89, 4.87
{0;31}Tasks:{0;1}   2 {0;31}total,{0;1}   1 {0;31}running,{0;1}   1 {0;31}sleeping,{0;1}   0 {0;31}stopped,{0;1}   0 {0;31}zombie
{0;31}%Cpu(s):{0;1}  0.0 {0;31}us,{0;1}  0.0 {0;31}sy,{0;1}  0.0 {0;31}ni,{0;1}100.0 {0;31}id,{0;1}  0.0 {0;31}wa,{0;1}  0.0 {0;31}hi,{0;1}  0.0 {0;31}si,{0;1}  0.0 {0;31}st
{0;31}MiB Mem :{0;1}  24105.1 {0;31}total,{0;1}  18394.8 {0;31}free,{0;1}    990.7 {0;31}used,{0;1}   5033.5 {0;31}buff/cache
{0;31}MiB Swap:{0;1}      0.0 {0;31}total,{0;1}      0.0 {0;31}free,{0;1}      0.0 {0;31}used.{0;1}  23114.4 {0;31}avail Mem

{0;7;33}    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND  
{0;1;31}      1 root      20   0    9060   5356   3236 R   0.0   0.0   0:00.00 top
{0;31}     13 root      20   0    2920   1804   1700 S   0.0   0.0   0:00.00 sleep















cursor 0,23
== 9467
top - 16:22:03 up 54 min,  0 user,  load average: 12.31, 7.89, 4.87
{0;31}Tasks:{0;1}   2 {0;31}total,{0;1}   1 {0;31}running,{0;1}   1 {0;31}sleeping,{0;1}   0 {0;31}stopped,{0;1}   0 {0;31}zombie
{0;31}%Cpu(s):{0;1}  0.0 {0;31}us,{0;1}  0.0 {0;31}sy,{0;1}  0.0 {0;31}ni,{0;1}100.0 {0;31}id,{0;1}  0.0 {0;31}wa,{0;1}  0.0 {0;31}hi,{0;1}  0.0 {0;31}si,{0;1}  0.0 {0;31}st
{0;31}MiB Mem :{0;1}  24105.1 {0;31}total,{0;1}  18431.2 {0;31}free,{0;1}    953.6 {0;31}used,{0;1}   5034.3 {0;31}buff/cache
{0;31}MiB Swap:{0;1}      0.0 {0;31}total,{0;1}      0.0 {0;31}free,{0;1}      0.0 {0;31}used.{0;1}  23151.6 {0;31}avail Mem

{0;7;33}    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND  
{0;1;31}      1 root      20   0    9060   5356   3236 R   0.0   0.0   0:00.00 top
{0;31}     13 root      20   0    2920   1804   1700 S {0;1;31}  0.0 {0;31}  0.0   0:00.00 sleep















cursor 0,23
== 13361
top - 16:22:04 up 54 min,  0 user,  load average: 12.31, 7.89, 4.87
{0;31}Tasks:{0;1}   2 {0;31}total,{0;1}   1 {0;31}running,{0;1}   1 {0;31}sleeping,{0;1}   0 {0;31}stopped,{0;1}   0 {0;31}zombie
{0;31}%Cpu(s):{0;1}  0.0 {0;31}us,{0;1}  0.0 {0;31}sy,{0;1}  0.0 {0;31}ni,{0;1}100.0 {0;31}id,{0;1}  0.0 {0;31}wa,{0;1}  0.0 {0;31}hi,{0;1}  0.0 {0;31}si,{0;1}  0.0 {0;31}st
{0;31}MiB Mem :{0;1}  24105.1 {0;31}total,{0;1}  18444.4 {0;31}free,{0;1}    936.9 {0;31}used,{0;1}   5037.7 {0;31}buff/cache
{0;31}MiB Swap:{0;1}      0.0 {0;31}total,{0;1}      0.0 {0;31}free,{0;1}      0.0 {0;31}used.{0;1}  23168.2 {0;31}avail Mem

{0;7;33}    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND  
{0;1;31}      1 root      20   0    9060   5356   3236 R   0.0   0.0   0:00.00 top -d +
{0;31}     13 root      20   0    2920   1804   1700 S {0;1;31}  0.0 {0;31}  0.0   0:00.00 sleep 1+















cursor 0,23
== 17041
top - 16:22:04 up 54 min,  0 user,  load average: 12.31, 7.89, 4.87
{0;31}Tasks:{0;1}   2 {0;31}total,{0;1}   1 {0;31}running,{0;1}   1 {0;31}sleeping,{0;1}   0 {0;31}stopped,{0;1}   0 {0;31}zombie
{0;31}%Cpu(s):{0;1}  0.0 {0;31}us,{0;1}  0.0 {0;31}sy,{0;1}  0.0 {0;31}ni,{0;1}100.0 {0;31}id,{0;1}  0.0 {0;31}wa,{0;1}  0.0 {0;31}hi,{0;1}  0.0 {0;31}si,{0;1}  0.0 {0;31}st
{0;31}MiB Mem :{0;1}  4.0{0;31}/24105.1  {0}[{0;1;31}|{0;31}|{0}                                                   ]
{0;31}MiB Swap:{0;1}  0.0{0;31}/0.0      {0}[                                                     ]

{0;7;33}    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND  
{0;1;31}      1 root      20   0    9060   5356   3236 R   0.0   0.0   0:00.00 top -d +
{0;31}     13 root      20   0    2920   1804   1700 S {0;1;31}  0.0 {0;31}  0.0   0:00.00 sleep 1+















cursor 0,23
== 20313
top - 16:22:05 up 54 min,  0 user,  load average: 12.31, 7.89, 4.87
{0;31}Tasks:{0;1}   2 {0;31}total,{0;1}   1 {0;31}running,{0;1}   1 {0;31}sleeping,{0;1}   0 {0;31}stopped,{0;1}   0 {0;31}zombie
{0;31}%Cpu(s): {0;1}  0.0{0;31}/0.0  {0}   0[                                                     ]
{0;31}MiB Mem :{0;1}  4.0{0;31}/24105.1  {0}[{0;1;31}|{0;31}|{0}                                                   ]
{0;31}MiB Swap:{0;1}  0.0{0;31}/0.0      {0}[                                                     ]

{0;7;33}    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND  
{0;1;31}      1 root      20   0    9060   5356   3236 R   0.0   0.0   0:00.00 top -d +
{0;31}     13 root      20   0    2920   1804   1700 S {0;1;31}  0.0 {0;31}  0.0   0:00.00 sleep 1+















cursor 0,23
== 24025
top - 16:22:06 up 54 min,  0 user,  load average: 12.31, 7.89, 4.87
{0;31}Tasks:{0;1}   2 {0;31}total,{0;1}   1 {0;31}running,{0;1}   1 {0;31}sleeping,{0;1}   0 {0;31}stopped,{0;1}   0 {0;31}zombie
{0;31}%Cpu0  : {0;1}  0.0{0;31}/0.0  {0}   0[                                                     ]
{0;31}%Cpu1  : {0;1}  0.0{0;31}/0.0  {0}   0[                                                     ]
{0;31}MiB Mem :{0;1}  4.0{0;31}/24105.1  {0}[{0;1;31}|{0;31}|{0}                                                   ]
{0;31}MiB Swap:{0;1}  0.0{0;31}/0.0      {0}[                                                     ]

{0;7;33}    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND  
{0;1;31}      1 root      20   0    9060   5356   3236 R   0.0   0.0   0:00.00 top -d +
{0;31}     13 root      20   0    2920   1804   1700 S {0;1;31}  0.0 {0;31}  0.0   0:00.00 sleep 1+














cursor 0,23
== 28688
{0;1}Help for Interactive Commands{0} - procps-ng 4.0.2
Window {0;7;33}1:Def{0}: {0;31}Cumulative mode {0;1}Off{0}.  {0;7;33}System{0}: {0;31}Delay {0;1}1000.0 secs{0}; {0;31}Secure mode {0;1}Off{0}.

{0;1;31}  Z{0},{0;1;31}B{0},E,e   Global: '{0;1}Z{0}' colors; '{0;1}B{0}' bold; '{0;1}E{0}'/'{0;1}e{0}' summary/task memory scale
  l,t,m,I   Toggle: '{0;1}l{0}' load avg; '{0;1}t{0}' task/cpu; '{0;1}m{0}' memory; '{0;1}I{0}' Irix mode
  0,1,2,3,4 Toggle: '{0;1}0{0}' zeros; '{0;1}1{0}/{0;1}2{0}/{0;1}3{0}' cpu/numa views; '{0;1}4{0}' cpus two abreast
  f,X       Fields: '{0;1}f{0}' add/remove/order/sort; '{0;1}X{0}' increase fixed-width fields

  L,&,<,> . Locate: '{0;1}L{0}'/'{0;1}&{0}' find/again; Move sort column: '{0;1}<{0}'/'{0;1}>{0}' left/right
  R,H,J,C . Toggle: '{0;1}R{0}' Sort; '{0;1}H{0}' Threads; '{0;1}J{0}' Num justify; '{0;1}C{0}' Coordinates
  c,i,S,j . Toggle: '{0;1}c{0}' Cmd name/line; '{0;1}i{0}' Idle; '{0;1}S{0}' Time; '{0;1}j{0}' Str justify
{0;1;31}  x{0},{0;1;31}y{0}     . Toggle highlights: '{0;1}x{0}' sort field; '{0;1}y{0}' running tasks
{0;1;31}  z{0},{0;1;31}b{0}     . Toggle: '{0;1}z{0}' color/mono; '{0;1}b{0}' bold/reverse (only if 'x' or 'y')
  u,U,o,O . Filter by: '{0;1}u{0}'/'{0;1}U{0}' effective/any user; '{0;1}o{0}'/'{0;1}O{0}' other criteria
  n,#,^O  . Set: '{0;1}n{0}'/'{0;1}#{0}' max tasks displayed; Show: {0;1}Ctrl{0}+'{0;1}O{0}' other filter(s)
  V,v,F   . Toggle: '{0;1}V{0}' forest view; '{0;1}v{0}' hide/show children; '{0;1}F{0}' keep focused

  d,k,r,^R '{0;1}d{0}' set delay; '{0;1}k{0}' kill; '{0;1}r{0}' renice; {0;1}Ctrl{0}+'{0;1}R{0}' renice autogroup
  ^G,K,N,U  View: ctl groups {0;1}^G{0}; cmdline {0;1}^K{0}; environment {0;1}^N{0}; supp groups {0;1}^U
  W,Y,!,^E  Write cfg '{0;1}W{0}'; Inspect '{0;1}Y{0}'; Combine Cpus '{0;1}!{0}'; Scale time {0;1}^E{0}'
  q         Quit
          ( commands shown with '.' require a {0;1}visible{0} task display {0;1}window{0} )
Press '{0;1}h{0}' or '{0;1}?{0}' for help with {0;1}Windows{0},
Type 'q' or <Esc> to continue
cursor 30,23
== 32400
top - 16:22:07 up 54 min,  0 user,  load average: 12.31, 7.89, 4.87
{0;31}Tasks:{0;1}   2 {0;31}total,{0;1}   1 {0;31}running,{0;1}   1 {0;31}sleeping,{0;1}   0 {0;31}stopped,{0;1}   0 {0;31}zombie
{0;31}%Cpu0  : {0;1}  0.0{0;31}/0.0  {0}   0[                                                     ]
{0;31}%Cpu1  : {0;1}  0.0{0;31}/0.0  {0}   0[                                                     ]
{0;31}MiB Mem :{0;1}  6.0{0;31}/24105.1  {0}[{0;1;31}||{0;31}|{0}                                                  ]
{0;31}MiB Swap:{0;1}  0.0{0;31}/0.0      {0}[                                                     ]

{0;7;33}    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND  
{0;1;31}      1 root      20   0    9060   5356   3236 R   0.0   0.0   0:00.00 top -d +
{0;31}     13 root      20   0    2920   1804   1700 S {0;1;31}  0.0 {0;31}  0.0   0:00.00 sleep 1+














cursor 0,23
