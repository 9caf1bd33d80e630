On branch main
nothing to commit, working tree clean
user@box:~/repo#





















cursor 17,2
