"""One adapter a wire behind one `Provider` protocol: finished neutral requests in, no catalogue of models here."""
