// Command resumed continues the sessions of coding agents that a limit stopped.
package main

func main() {}
