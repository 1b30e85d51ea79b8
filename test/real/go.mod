// An S3 server. Its own go.mod pins what it is made of; the line of Go is the version of the compiler too.
module penstock-test-servers

go 1.27.3

require github.com/versity/versitygw v1.8.0
