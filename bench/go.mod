module resumed/bench

go 1.26.0
