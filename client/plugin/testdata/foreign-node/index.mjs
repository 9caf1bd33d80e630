console.log("listening on a socket of my own"); setInterval(() => {}, 1000);
