#!/usr/bin/env node
"use strict";
// Starts the program of this platform as if it had been called itself: same
// terminal, same signals, same end.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `@resumed/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/resumed`);
} catch {
  const known = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"];
  if (known.includes(`${process.platform}-${process.arch}`)) {
    console.error(`resumed: npm did not install ${platform}\nTry: npm install -g @resumed/cli, without --omit=optional`);
  } else {
    console.error(`resumed: there is no program for ${process.platform} on ${process.arch}\nTry: Linux or macOS, or WSL`);
  }
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`resumed: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal); // to end as the program ended
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + (constants.signals[signal] || 0)), 1000);
});
