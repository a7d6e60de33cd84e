package mcpclient

const childVariable = "MCPCLIENT_TEST_CHILD"

func runChild(mode string) {}
