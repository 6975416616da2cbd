// Command divvy-bench measures divvy beside what PostgreSQL and HTTP can do on the same machine in the same minutes: see
// docs/performance.md. The daemon that it measures is package serve, as divvy runs it; nothing of it is part of the product.
//
//	suite    S1 to S12         day      a day in fast motion, and S12     history, month, outgrow   what is kept, and asked
//	stage    a database with a data set, daemons and load on it; what all of them stand on
//	load     the load, in a process of its own      recount  what is checked      figure  what is printed
//	past     the log of a month      profile  flame graphs      proc  /proc      river  the floor of S3, a module of its own
package main
