before
42






















cursor 0,2
