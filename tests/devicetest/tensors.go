package devicetest

func tensors(s *suite)   {}
func networks(s *suite)  {}
func gradients(s *suite) {}
