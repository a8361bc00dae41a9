// Package others tests hazardd with the programs that people really use: official SDKs and map
// libraries, installed from package-lock.json. Each script is a test of node.
package others
