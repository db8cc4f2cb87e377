"use strict";
// Serves the files of one directory on a free port of the loopback, for tests; prints the port.
const http = require("node:http");
const fs = require("node:fs");
const path = require("node:path");

http
  .createServer((request, response) => {
    const file = path.join(process.argv[2], path.normalize(decodeURIComponent(request.url)));
    fs.createReadStream(file)
      .on("error", () => response.writeHead(404).end())
      .pipe(response);
  })
  .listen(0, "127.0.0.1", function () {
    console.log(this.address().port);
  });
